"""Processor time by part, from /proc: parsed from what the kernel writes, and of real processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strom.bench.sustained.measured import Measured, per_message
from strom.bench.sustained.processor import Snapshot, Stat, difference, kind_of, machine, snapshot
from tests.waiting import until

HZ = os.sysconf("SC_CLK_TCK")


def line(pid: int, name: str, parent: int, ticks: tuple[int, int, int, int] = (0, 0, 0, 0)) -> str:
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 1 2 3 4 {' '.join(map(str, ticks))} 20 0 1 0 99 1 1"


class FakeProc:
    """A folder like /proc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stat").write_text("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n", "ascii")
        (folder / "self").mkdir()

    def add(
        self,
        pid: int,
        name: str,
        parent: int,
        ticks: tuple[int, int, int, int],
        threads: dict[str, tuple[int, int, int, int]] | None = None,
    ) -> None:
        entry = self.folder / str(pid)
        entry.mkdir()
        (entry / "stat").write_text(line(pid, name, parent, ticks))
        for number, (thread, used) in enumerate((threads or {}).items(), start=pid):
            (entry / "task" / str(number)).mkdir(parents=True)
            (entry / "task" / str(number) / "stat").write_text(line(number, thread, parent, used))


def test_a_name_with_spaces_and_brackets_does_not_confuse_the_fields() -> None:
    stat = Stat.parse(line(7, "a) b (c", 3, (HZ, 2 * HZ, 3 * HZ, 4 * HZ)))
    assert stat == Stat("a) b (c", 3, 3.0, 7.0)


def test_the_machine_is_busy_with_all_but_idling_and_waiting_for_disks() -> None:
    text = f"cpu  {HZ} {2 * HZ} {3 * HZ} {40 * HZ} {5 * HZ} {6 * HZ} {7 * HZ} {8 * HZ} {9 * HZ} 0\ncpu0 1\n"
    assert machine(text) == (1 + 2 + 3 + 6 + 7 + 8, 45)


def test_a_part_is_its_process_and_all_below_but_no_other_part(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.add(1, "init", 0, (9 * HZ, 0, 0, 0))
    proc.add(10, "strom", 1, (HZ, 0, 0, 0))
    proc.add(20, "postgres", 10, (HZ, HZ, HZ, HZ))  # two seconds of sessions that have ended
    proc.add(21, "postgres", 20, (3 * HZ, 0, 0, 0))
    proc.add(22, "postgres", 21, (4 * HZ, 0, 0, 0))
    found = snapshot({"Postgres": 20, "supervisor": 10}, tmp_path)
    assert found.parts == {"Postgres": 11.0, "supervisor": 1.0}
    assert (found.busy_s, found.idle_s) == (150 / HZ, 850 / HZ)


def test_a_jvm_and_the_python_around_it_are_told_apart_and_its_threads_by_kind(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.add(30, "python", 1, (HZ, 0, 0, 0))
    threads = {
        "C2 CompilerThre": (2 * HZ, 0, 0, 0),
        "GC Thread#0": (HZ, 0, 0, 0),
        "Executor task l": (3 * HZ, HZ, 0, 0),
        "java": (HZ, 0, 0, 0),
    }
    proc.add(31, "java", 30, (9 * HZ, HZ, HZ, 0), threads)
    proc.add(32, "python3", 31, (5 * HZ, 0, 0, 0))
    found = snapshot({"pipeline": 30}, tmp_path)
    assert found.parts == {"pipeline, JVM": 10.0, "pipeline, Python": 7.0}
    assert found.threads == {
        "pipeline, JVM": {"compiling": 2.0, "garbage collection": 1.0, "tasks": 4.0, "rest": 3.0}
    }


def test_a_jvm_alone_is_one_part(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.add(40, "java", 1, (HZ, 0, 0, 0))
    assert snapshot({"Kafka": 40}, tmp_path).parts == {"Kafka": 1.0}


def test_a_part_that_is_gone_has_used_nothing(tmp_path: Path) -> None:
    FakeProc(tmp_path)
    assert snapshot({"bridge": 50}, tmp_path).parts == {"bridge": 0}


def test_what_counts_is_the_difference_and_a_part_that_was_started_again_counts_from_its_start() -> None:
    before = Snapshot({"page": 5.0, "bridge": 9.0}, {"Kafka": {"rest": 1.0}}, 20.0, 1.0)
    after = Snapshot({"page": 7.5, "bridge": 0.5, "load": 1.0}, {"Kafka": {"rest": 1.5}}, 26.0, 2.0)
    used = difference(before, after)
    assert used.parts == {"page": 2.5, "bridge": 0.0, "load": 1.0}
    assert used.threads == {"Kafka": {"rest": 0.5}}
    assert (used.busy_s, used.idle_s) == (6.0, 1.0)
    found = per_message(Measured(1, 1, sent=1_000_000, used=used))
    assert found == pytest.approx(
        {"page": 2.5, "bridge": 0.0, "load": 1.0, "everything else on this machine": 2.5}
    )


@pytest.mark.parametrize(
    ("thread", "kind"),
    [
        ("C1 CompilerThre", "compiling"),
        ("G1 Conc#0", "garbage collection"),
        ("Executor task l", "tasks"),
        ("kafka-producer-", "rest"),
    ],
)
def test_threads_are_known_by_their_names(thread: str, kind: str) -> None:
    assert kind_of(thread) == kind


def test_a_child_that_has_ended_still_counts_for_the_one_that_waited_for_it() -> None:
    work = "import time\nwhile time.process_time() < 0.3: pass"
    outer = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {work!r}])\nprint('done', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        found = until(lambda: snapshot({"part": process.pid}).parts["part"], "its time")
        process.communicate("\n")
    assert found >= 0.3 - 2 / HZ
