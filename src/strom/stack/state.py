"""What the supervisor writes down of its parts under the home, and what `strom status` makes of it."""

import contextlib
import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strom.restart_record import restarts_of
from strom.settings import Settings
from strom.stack.catalogue import ELSEWHERE, KINDS, every_part, status_names
from strom.stack.children import kill_group
from strom.stack.lock import holder_pid
from strom.stack.processes import await_end, birth, is_alive
from strom.stack.ready import announced_pid

RUNNING, STOPPED, EXTERNAL = "running", "stopped", "external"
LEFTOVER_SECONDS = 10.0


@dataclass(frozen=True)
class PartState:
    state: str
    address: str
    pid: int | None = None
    restarts: int = 0
    born: str | None = None  # tells a process from a later one with the same pid


def write_state(home: Path, kind: str, states: dict[str, PartState]) -> None:
    """Replace the file of a kind of parts as a whole, so that a reader never sees half of it."""
    path = _path(home, kind)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps({name: asdict(state) for name, state in states.items()}), encoding="utf-8")
    fresh.replace(path)


def end_leftovers(home: Path, kind: str) -> None:
    """Kill what a supervisor that was killed itself may have left; only for the holder of the lock."""
    for state in _read(home, kind).values():
        if state.pid is not None and state.born is not None and birth(state.pid) == state.born:
            kill_group(state.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGKILL)
            await_end(state.pid, LEFTOVER_SECONDS)


def status(settings: Settings) -> dict[str, dict[str, Any]]:
    """The contract's object: for each part its state, address, pid where it runs here, and restarts."""
    home = settings.home.absolute()
    supervised = _supervised(home)
    found = {part.name: part for part in every_part(settings)}
    answer: dict[str, dict[str, Any]] = {}
    named = status_names(settings)
    for name in (*named, *(more for more in supervised if more not in named)):
        part = found.get(name)
        state = supervised.get(name) or PartState(STOPPED, part.address if part else "")
        if part is not None and part.external and state.state == STOPPED:
            state = PartState(EXTERNAL, part.address)
        state = state if state.state == EXTERNAL else _as_it_is(home, name, state)
        answer[name] = _shown(state)
        if failed := restarts_of(home, name, state.pid):
            answer[name]["background"] = failed
    queries = _queries(settings, answer["pipeline"].get("pid"))
    return answer | ({"pipeline": answer["pipeline"] | {"queries": queries}} if queries else {})


def _supervised(home: Path) -> dict[str, PartState]:
    """What the supervisors of this home say; what one of them runs is elsewhere for another that uses it."""
    found: dict[str, PartState] = {}
    for kind in (*KINDS, ELSEWHERE):
        if holder_pid(home, kind) is not None:
            own = _read(home, kind)
            found |= {name: own[name] for name in own if name not in found or own[name].state != EXTERNAL}
    return found


def _queries(settings: Settings, pid: int | None) -> dict[str, Any]:
    """How the users' own queries are, as the running pipeline tells; what a former one told counts for nothing."""
    try:
        told = json.loads(settings.query_states.read_text(encoding="utf-8"))
        return dict(told["queries"]) if told["pid"] == pid else {}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def _as_it_is(home: Path, name: str, state: PartState) -> PartState:
    """What is written down may be over by now; and a part may have been started by hand."""
    if state.state == RUNNING and state.pid is not None and birth(state.pid) == state.born:
        return state
    by_hand = announced_pid(home, name)
    if is_alive(by_hand):
        return PartState(RUNNING, state.address, by_hand, state.restarts)
    return PartState(STOPPED, state.address, None, state.restarts)


def _shown(state: PartState) -> dict[str, Any]:
    shown: dict[str, Any] = {"state": state.state, "address": state.address, "restarts": state.restarts}
    return shown | ({"pid": state.pid} if state.pid is not None else {})


def _read(home: Path, kind: str) -> dict[str, PartState]:
    try:
        written = json.loads(_path(home, kind).read_text(encoding="utf-8"))
        return {name: PartState(**fields) for name, fields in written.items()}
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def _path(home: Path, kind: str) -> Path:
    return home / "run" / f"stack-{kind}.json"
