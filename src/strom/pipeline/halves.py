"""Merges what the series of import and export say into rows with both; whose they are, a meter or a tariff, is open."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from strom.domain.load_profile import Direction, Half, Row, row_of
from strom.pipeline.series import Update, Whose
from strom.store.profile_tables import GapHalves


def telling_rows(updates: Sequence[Update]) -> list[Update]:
    """Those that may change a row."""
    return [update for update in updates if update.revised or update.chain.rows]


def telling_gaps(updates: Sequence[Update]) -> list[Update]:
    """Those that may change a gap."""
    return [update for update in updates if update.revised or update.chain.gaps]


def first_gap(update: Update) -> int:
    """No gap before it is changed."""
    return min([update.since, *update.chain.gaps])


def joined(spans: Iterable[tuple[Whose, int, int | None]]) -> list[tuple[Whose, int, int | None]]:
    """The spans of each as few that do not touch each other; None: to the end."""
    found: list[tuple[Whose, int, int | None]] = []
    ordered = sorted(set(spans), key=lambda span: (span[0], span[1], span[2] is None, span[2] or 0))
    for owner, start, end in ordered:
        last = found[-1] if found else None
        if last is None or last[0] != owner or (last[2] is not None and start > last[2]):
            found.append((owner, start, end))
        elif last[2] is not None:
            found[-1] = (owner, last[1], None if end is None else max(end, last[2]))
    return found


def wanted_rows(
    updates: Iterable[tuple[Whose, Update]], stored: Mapping[tuple[Whose, int], Row]
) -> dict[tuple[Whose, int], Row | None]:
    """The touched rows as they should be; None where no direction has a slot any more."""
    halves: defaultdict[tuple[Whose, int], dict[Direction, Half]] = defaultdict(dict)
    touched: set[tuple[Whose, int]] = set()
    starts: defaultdict[Whose, list[int]] = defaultdict(list)
    for (owner, start), row in stored.items():
        pairs = ((Direction.IMPORT, row.imported), (Direction.EXPORT, row.exported))
        halves[owner, start] = {direction: half for direction, half in pairs if half is not None}
        starts[owner].append(start)
    for owner, update in updates:
        direction = update.key[1]
        for start in starts[owner]:
            if _is_told(update, start) and halves[owner, start].pop(direction, None) is not None:
                touched.add((owner, start))
        for slot in update.chain.rows:
            halves[owner, slot.start][direction] = Half.of(slot)
            touched.add((owner, slot.start))
    return {key: row_of(key[1], halves[key]) if halves[key] else None for key in touched}


def changed_gaps(
    updates: Iterable[tuple[Whose, Update]], stored: Mapping[tuple[Whose, int, int], GapHalves]
) -> dict[tuple[Whose, int, int], GapHalves]:
    """The gaps that are others now; one without either direction is void."""
    wanted = {key: dict(halves) for key, halves in stored.items()}
    known: defaultdict[Whose, list[tuple[int, GapHalves]]] = defaultdict(list)
    for (owner, start, _), halves in wanted.items():
        known[owner].append((start, halves))
    for owner, update in updates:
        direction = update.key[1]
        for start, halves in known[owner]:
            if start in update.chain.gaps or (update.revised and _is_told(update, start)):
                halves.pop(direction, None)
        for gap in update.chain.gaps.values():
            if gap is not None:
                wanted.setdefault((owner, gap.start, gap.end), {})[direction] = gap.mwh
    return {key: halves for key, halves in wanted.items() if halves != stored.get(key)}


def _is_told(update: Update, start: int) -> bool:
    return start >= update.since and (update.until is None or start < update.until)
