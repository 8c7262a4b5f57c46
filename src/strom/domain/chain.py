"""The chain of a direction's segments: takes readings as accepted or dropped, gathers the slots completed.

It grows at its end only and knows no file, no table and no clock; which readings are accepted is decided in
`acceptance`, what people see is put together in `load_profile`.
"""

from dataclasses import dataclass, field

from strom.domain.segments import (
    Border,
    Fall,
    Gap,
    Jump,
    Measure,
    Quality,
    Rules,
    Segment,
    SlotEnergy,
    Stretch,
)
from strom.domain.slots import SLOT_MS, slot_of, slots_from


@dataclass(slots=True)
class Chain:
    """Readings come in order of time; `rows` are the slots whose borders lie between accepted readings."""

    measure: Measure
    rules: Rules
    segments: list[Segment] = field(default_factory=list)
    rows: list[SlotEnergy] = field(default_factory=list)
    gaps: dict[int, Gap | None] = field(default_factory=dict)  # by start; None: there is none (any more)
    falls: list[Fall] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)

    @classmethod
    def after(cls, carried: Segment | None, measure: Measure, rules: Rules) -> "Chain":
        """A chain that goes on from a stored segment, or begins."""
        chain = cls(measure, rules)
        if carried is not None:
            chain.segments.append(carried)
            if carried.run_start is not None and carried.run_start < carried.slot:
                chain._note_gap(carried.run_start, carried.run_mwh, carried.slot, carried.start_mwh)
        return chain

    @property
    def last(self) -> Segment | None:
        return self.segments[-1] if self.segments else None

    def accept(self, stretch: Stretch, *, reset: bool = False) -> None:
        """Append accepted readings of one slot; a reset's step counts nothing."""
        last = self.last
        if last is None:
            self.segments.append(_first(stretch))
            return
        total = last.end_total + (0 if reset else self._step(last, stretch))
        streak = 0 if reset else min(2, (0 if last.trail else last.streak) + stretch.samples)
        if slot_of(stretch.first_t) == last.slot:
            self.segments[-1] = _extended(last, stretch, total, reset, streak)
        else:
            self.segments.append(self._next(last, stretch, total, reset, streak))

    def rejoins(self, replaced: Segment, following: Segment) -> bool:
        """Whether all from the stored segment `following` on is as it was, where it followed `replaced`.

        If so the rows up to there are complete.
        """
        last = self.segments[-1]
        if _carried(last) != _carried(replaced) or following.run_start != following.slot:
            return False
        first = Stretch(
            following.first_t, 0, following.last_t, following.last_v, following.inner, following.samples
        )
        found = self._next(last, first, following.total, following.reset, following.streak)
        later = {name: getattr(following, name) for name in ("jump", "trail", "fall_t", "jump_t")}
        return found._replace(**later) == following

    def drop(self, t: int) -> None:
        """A suspect reading that was not accepted flags its slot."""
        last = self.segments[-1]
        if slot_of(t) not in last.trail:
            self.segments[-1] = last._replace(trail=(*last.trail, slot_of(t)))

    def fall(self, t: int, mwh: int) -> None:
        """Readings that fell one after the other are one event: the first of them."""
        last = self.segments[-1]
        if last.fall_t is None:
            self.falls.append(Fall(t, mwh))
            self.segments[-1] = last._replace(fall_t=t)

    def leap(self, t: int, mwh: int, most_mwh: int) -> None:
        """The twin of a fall."""
        last = self.segments[-1]
        if last.jump_t is None:
            self.jumps.append(Jump(t, mwh, most_mwh))
            self.segments[-1] = last._replace(jump_t=t)

    def _step(self, last: Segment, stretch: Stretch) -> int:
        if self.measure is Measure.COUNTER:
            return stretch.first_v - last.last_v
        return last.last_v * (stretch.first_t - last.last_t)

    def _next(self, last: Segment, stretch: Stretch, total: int, reset: bool, streak: int) -> Segment:
        slot = slot_of(stretch.first_t)
        run = (last.run_start, last.run_mwh)
        start, start_mwh = last.start, last.start_mwh
        for begin in slots_from(last.slot, slot):
            end = begin + SLOT_MS
            border, mwh = self._border(last, stretch.first_t, total, end)
            if start is not Border.BEFORE_FIRST:
                self.rows.append(self._row(last, begin, (start, start_mwh), (border, mwh)))
            if start is Border.BEFORE_FIRST or self.rows[-1].quality is not Quality.MISSING:
                run = (end, mwh) if mwh is not None else (None, None)
            elif run[0] is not None:
                self._note_gap(run[0], run[1], end, mwh)
            start, start_mwh = border, mwh
        return Segment(
            slot, stretch.first_t, stretch.last_t, stretch.last_v, total, stretch.inner, stretch.samples,
            start, start_mwh, *run, reset=reset, jump=slot in last.trail, streak=streak,
        )  # fmt: skip

    def _border(self, last: Segment, t1: int, total: int, border: int) -> tuple[Border, int | None]:
        """Kind and rounded total of a border between the last accepted reading and the next one at t1."""
        units = self.measure.units_per_mwh
        apart = t1 - last.last_t
        if border == t1:
            return Border.EXACT, _half_up(total, units)
        if apart >= self.rules.linear_ms and apart > self.rules.exact_ms:
            return Border.UNKNOWN, None
        line = last.end_total * apart + (total - last.end_total) * (border - last.last_t)
        kind = Border.EXACT if apart <= self.rules.exact_ms else Border.INTERPOLATED
        return kind, _half_up(line, apart * units)

    def _row(
        self, last: Segment, begin: int, start: tuple[Border, int | None], end: tuple[Border, int | None]
    ) -> SlotEnergy:
        own = begin == last.slot
        reset = own and last.reset
        jump = (own and last.jump) or begin in last.trail
        mwh = None if start[1] is None or end[1] is None else end[1] - start[1]
        quality = self._quality(mwh, reset or Border.INTERPOLATED in (start[0], end[0]))
        return SlotEnergy(begin, mwh, quality, last.samples if own else 0, reset, jump)

    def _quality(self, mwh: int | None, substituted: bool) -> Quality:
        if mwh is None:
            return Quality.MISSING
        if substituted:
            return Quality.SUBSTITUTE
        return Quality.MEASURED if self.measure is Measure.COUNTER else Quality.CALCULATED

    def _note_gap(self, start: int, start_mwh: int | None, end: int, end_mwh: int | None) -> None:
        """The last word on a run counts: it ends at a known border, or there is no gap row for it yet."""
        if start_mwh is None or end_mwh is None:
            self.gaps[start] = None
        else:
            self.gaps[start] = Gap(start, end, end_mwh - start_mwh)


def _first(stretch: Stretch) -> Segment:
    slot = slot_of(stretch.first_t)
    at_border = stretch.first_t == slot
    known = 0 if at_border else None
    return Segment(
        slot, stretch.first_t, stretch.last_t, stretch.last_v, 0, stretch.inner, stretch.samples,
        Border.EXACT if at_border else Border.BEFORE_FIRST, known, slot if at_border else None, known,
    )  # fmt: skip


def _extended(last: Segment, stretch: Stretch, total: int, reset: bool, streak: int) -> Segment:
    # Not by `_replace`, which takes longer; this is done for every stretch that comes.
    return Segment(
        last.slot, last.first_t, stretch.last_t, stretch.last_v, last.total,
        total + stretch.inner - last.total, last.samples + stretch.samples,
        last.start, last.start_mwh, last.run_start, last.run_mwh,
        reset=last.reset or reset, jump=last.jump or bool(last.trail), streak=streak,
    )  # fmt: skip


def _carried(segment: Segment) -> tuple[object, ...]:
    """What of a segment decides about the readings after it and about their totals."""
    return (
        segment.slot, segment.last_t, segment.last_v, segment.end_total, segment.trail, segment.streak,
        segment.fall_t, segment.jump_t,
    )  # fmt: skip


def _half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
