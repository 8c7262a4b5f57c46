"""The names of the pipeline's stages, and which of them need others."""

from collections.abc import Sequence

from strom.errors import StromError

NORMALISE = "normalise"
SIDE = "side"  # what native columns cannot read; goes with `normalise`, which passes it on
STORE_STAGES = ("archive", "profile", "latest", "watch")  # those on `readings`, which share one read of it
QUERIES = "queries"  # those that users keep in a folder; none without one
STAGES = (NORMALISE, SIDE, *STORE_STAGES, QUERIES)

# All others read the lake; alerts need the series and the intervals.
_NEEDS = {
    "latest": ("archive",), "profile": ("archive", "latest"), "watch": ("archive", "latest", "profile"),
}  # fmt: skip


def refuse_unknown(stages: Sequence[str]) -> None:
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise StromError(f"{unknown[0]} is not a stage of the pipeline; the stages are {', '.join(STAGES)}.")


def with_side(stages: Sequence[str]) -> tuple[str, ...]:
    """These in their order, with the side query where `normalise` passes records on to it."""
    refuse_unknown(stages)
    wanted = {*stages, SIDE} if NORMALISE in stages else {*stages}
    return tuple(stage for stage in STAGES if stage in wanted)


def with_needed(stages: Sequence[str]) -> tuple[str, ...]:
    """The stages on `readings` among these, and those that they need."""
    refuse_unknown(stages)
    wanted = {*stages, *(needed for stage in stages for needed in _NEEDS.get(stage, ()))}
    return tuple(stage for stage in STORE_STAGES if stage in wanted)
