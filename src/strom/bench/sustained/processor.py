"""How much of the processors each part has used, as the kernel counts it in /proc.

A part is a process with all that it has started. A process that has ended counts for the one that waited for it, so the sum
over a part never falls while the part lives.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
JAVA = "java"
PYTHON = "Python"
# Threads of a JVM by the beginning of their names, which the kernel cuts after 15 characters; the first match counts.
THREADS = (
    ("compiling", ("C1 Compiler", "C2 Compiler", "Sweeper")),
    ("garbage collection", ("GC Thread", "G1 ", "ParGC", "VM Thread")),
    ("tasks", ("Executor task",)),
)
OTHER_THREADS = "rest"


@dataclass(frozen=True)
class Stat:
    """One line of /proc/PID/stat, in seconds of the processor."""

    name: str
    parent: int
    own_s: float
    waited_for_s: float  # by children that have ended

    @classmethod
    def parse(cls, text: str) -> "Stat":
        name, _, rest = text.partition("(")[2].rpartition(")")  # the name may hold spaces and brackets
        fields = rest.split()
        user, system, children_user, children_system = (int(ticks) for ticks in fields[11:15])
        return cls(name, int(fields[1]), (user + system) / _TICKS, (children_user + children_system) / _TICKS)


@dataclass(frozen=True)
class Snapshot:
    """Seconds used since the machine or the process was started."""

    parts: Mapping[str, float]  # by name; a JVM with Python below it is two
    threads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of each JVM, by part
    busy_s: float = 0.0  # all processors, whoever used them
    idle_s: float = 0.0


def snapshot(pids: Mapping[str, int], proc: Path = PROC) -> Snapshot:
    """What the parts, by the process that each began with, have used up to now."""
    stats = dict(_stats(proc))
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    parts: dict[str, float] = {}
    threads: dict[str, Mapping[str, float]] = {}
    for part, root in pids.items():
        others = set(pids.values()) - {root}
        members = {pid: stats[pid] for pid in _tree(root, children, others) if pid in stats}
        virtual_machines = [pid for pid, stat in members.items() if stat.name == JAVA]
        used = sum(stat.own_s + stat.waited_for_s for stat in members.values())
        if virtual_machines:
            threads[part] = _by_kind(virtual_machines, stats, proc)
        if virtual_machines and len(members) > len(virtual_machines):
            in_java = sum(stats[pid].own_s for pid in virtual_machines)
            threads[f"{part}, JVM"] = threads.pop(part)
            parts[f"{part}, JVM"], parts[f"{part}, {PYTHON}"] = in_java, used - in_java
        else:
            parts[part] = used
    busy, idle = machine((proc / "stat").read_text(encoding="ascii"))
    return Snapshot(parts, threads, busy, idle)


def difference(before: Snapshot, after: Snapshot) -> Snapshot:
    """What was used between the two; a part that was started in between counts from its start."""
    return Snapshot(
        {name: max(0.0, used - before.parts.get(name, 0.0)) for name, used in after.parts.items()},
        {
            part: {
                kind: max(0.0, used - before.threads.get(part, {}).get(kind, 0.0))
                for kind, used in kinds.items()
            }
            for part, kinds in after.threads.items()
        },
        after.busy_s - before.busy_s,
        after.idle_s - before.idle_s,
    )


def machine(text: str) -> tuple[float, float]:
    """Busy and idle seconds of all processors together, from /proc/stat; waiting for a disk is idle, a guest is in user."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(ticks) for ticks in text.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS, (idle + iowait) / _TICKS


def _stats(proc: Path) -> Iterator[tuple[int, Stat]]:
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            try:
                yield (
                    int(entry.name),
                    Stat.parse((entry / "stat").read_text(encoding="utf-8", errors="replace")),
                )
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended in between


def _tree(root: int, children: Mapping[int, list[int]], without: set[int]) -> Iterator[int]:
    """The process and all below it, but for those that are parts themselves."""
    yield root
    for child in children.get(root, ()):
        if child not in without:
            yield from _tree(child, children, without)


def _by_kind(pids: list[int], stats: Mapping[int, Stat], proc: Path) -> dict[str, float]:
    """What the threads of these JVMs have used, by what they do."""
    kinds = dict.fromkeys([*(kind for kind, _ in THREADS), OTHER_THREADS], 0.0)
    for pid in pids:
        for task in (proc / str(pid) / "task").glob("*/stat"):
            try:
                thread = Stat.parse(task.read_text(encoding="utf-8", errors="replace"))
            except (FileNotFoundError, ProcessLookupError):
                continue
            kinds[kind_of(thread.name)] += thread.own_s
    # Threads that have ended are in the process's sum alone.
    known = sum(kinds[kind] for kind, _ in THREADS)
    kinds[OTHER_THREADS] = max(0.0, sum(stats[pid].own_s for pid in pids) - known)
    return {kind: used for kind, used in kinds.items() if used}


def kind_of(thread: str) -> str:
    return next((kind for kind, names in THREADS if thread.startswith(names)), OTHER_THREADS)
