"""What goes wrong with some meters, and when: planned from the seed, so that a test or a demo can know it.

It decides and describes; applying a fault to a payload is for the adapter that sends it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from strom.errors import StromError

MINUTE_MS = 60_000
SHARE = 25  # one meter of so many has each of the faults, at least one


class FaultKind(StrEnum):
    SILENT = "silent"  # sends nothing for some minutes, then returns
    CLOCK = "clock"  # its clock is in 2005 or a day ahead
    RESET = "reset"  # a meter swap: counters begin again at nearly nothing, with another meter number
    VOLTAGE = "voltage"  # 190 V or 260 V on one phase or all
    MALFORMED = "malformed"  # about every third push is no JSON object
    PHASE_LOSS = "phase-loss"  # a phase has nearly no voltage
    JUMP = "jump"  # the counter is suddenly far higher
    OVERLOAD = "overload"  # shows more power than a connection carries
    LEFT_ON = "left-on"  # something is on that should not be, day and night
    PLANT_OFF = "plant-off"  # the solar plant feeds in no more


@dataclass(frozen=True)
class Window:
    """When a fault is there, from the start of all faults; it returns every `again_ms` unless that is 0."""

    soonest_ms: int
    latest_ms: int
    length_ms: int  # 0: for good
    again_ms: int = 0


WINDOWS = {
    FaultKind.MALFORMED: Window(2_000, 10_000, 10 * MINUTE_MS, 60 * MINUTE_MS),
    # Twenty minutes hold ten of the clock, wherever those begin: voltages and clocks are judged by such windows.
    FaultKind.CLOCK: Window(5_000, 20_000, 20 * MINUTE_MS, 60 * MINUTE_MS),
    FaultKind.SILENT: Window(5_000, 25_000, 4 * MINUTE_MS, 60 * MINUTE_MS),
    FaultKind.VOLTAGE: Window(5_000, 30_000, 20 * MINUTE_MS, 120 * MINUTE_MS),
    FaultKind.RESET: Window(20_000, 60_000, 0),
    FaultKind.PHASE_LOSS: Window(5_000, 30_000, 5 * MINUTE_MS, 60 * MINUTE_MS),
    FaultKind.JUMP: Window(20_000, 60_000, 0),
    FaultKind.OVERLOAD: Window(5_000, 30_000, 3 * MINUTE_MS, 60 * MINUTE_MS),
    FaultKind.LEFT_ON: Window(5_000, 60_000, 0),
    FaultKind.PLANT_OFF: Window(5_000, 60_000, 0),
}


@dataclass(frozen=True)
class Fault:
    """One meter's fault: its first window in epoch ms, and what exactly is wrong."""

    kind: FaultKind
    index: int  # of the meter in the fleet
    meter: str  # as Strom calls it
    starts_ms: int
    length_ms: int
    again_ms: int
    value: float  # V for voltages, seconds to add for clock, W for powers, Wh for jump
    detail: str

    def active(self, time_ms: int) -> bool:
        since = time_ms - self.starts_ms
        if since < 0 or not self.length_ms:
            return since >= 0
        return (since % self.again_ms if self.again_ms else since) < self.length_ms


def parse_kinds(text: str | None) -> tuple[FaultKind, ...]:
    """`silent,clock` or `all`; refuses what is no fault."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if words == ["all"]:
        return tuple(FaultKind)
    known = ", ".join(FaultKind)
    for word in words:
        if word not in set(FaultKind):
            raise StromError(f"{word!r} is no fault that meters can have; choose from {known}, or all.")
    return tuple(dict.fromkeys(FaultKind(word) for word in words))


def plan(
    kinds: Iterable[FaultKind],
    names: Sequence[str],
    fits: Callable[[FaultKind, int], bool],
    seed: int,
    starts_ms: int,
) -> tuple[Fault, ...]:
    """Who has which fault from when on; a meter has two of them only in a fleet too small for one each."""
    draw = Random(f"strom-faults-{seed}")  # noqa: S311 - a simulation, not a secret
    order = draw.sample(range(len(names)), len(names))
    taken: set[int] = set()
    faults: list[Fault] = []
    wanted = set(kinds)
    for kind in FaultKind:  # always in this order and always drawn, so that one fault does not move another
        able = [index for index in order if fits(kind, index)]
        free = [index for index in able if index not in taken] or able
        chosen = free[: max(1, len(names) // SHARE)]
        taken.update(chosen)
        made = [_fault(kind, index, names[index], draw, starts_ms, turn) for turn, index in enumerate(chosen)]
        faults += made if kind in wanted else []
    return tuple(faults)


def _fault(kind: FaultKind, index: int, meter: str, draw: Random, starts_ms: int, turn: int) -> Fault:
    window = WINDOWS[kind]
    begin = starts_ms + draw.randrange(window.soonest_ms, window.latest_ms)
    value, detail = _particulars(kind, begin, turn)
    return Fault(kind, index, meter, begin, window.length_ms, window.again_ms, value, detail)


def _particulars(kind: FaultKind, begin_ms: int, turn: int) -> tuple[float, str]:
    """Neighbours in the plan differ, so that a fleet shows every form."""
    if kind is FaultKind.CLOCK:
        if turn % 2:
            return 86_400, "clock a day ahead"
        return 1_104_625_548 - begin_ms // 1000, "clock in January 2005"
    if kind is FaultKind.VOLTAGE:
        volts = (190, 260)[turn % 2]
        return volts, f"{volts} V on all phases"
    return {
        FaultKind.SILENT: (0, "sends nothing"),
        FaultKind.RESET: (0, "meter swapped, counters begin again"),
        FaultKind.MALFORMED: (0, "about every third push is no JSON object"),
        FaultKind.PHASE_LOSS: (3, "3 V on L2"),
        FaultKind.JUMP: (500_000, "counter 500 kWh higher"),
        FaultKind.OVERLOAD: (45_000, "shows 45 kW"),
        FaultKind.LEFT_ON: (3_000, "draws 3 kW more"),
        FaultKind.PLANT_OFF: (0, "solar plant off"),
    }[kind]


def malform(payload: bytes, turn: int) -> bytes:
    """One of the four ways in which a payload breaks."""
    return (
        payload[: len(payload) * 2 // 3],
        bytes((0xFF, 0x00, 0x9F, turn & 0x7F)) * 8,
        b"",
        b"[1,2,3]",
    )[turn % 4]
