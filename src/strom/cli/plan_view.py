"""How the steps of the pipeline and their plans are shown: a line an operator, in a terminal no wider than that."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from strom.pipeline.explain import Operator, Step

# The driver's part is no step of Spark, but belongs to what is told.
_DRIVER = (
    "The driver then goes on in Python with one row per meter and five minutes, not with each reading;",
    "only meters whose counters did not follow normally, or that show something odd, are read one by one.",
)
_NUMBER = re.compile(r"#\d+L?\b")  # tells columns of one name apart, which is of use only in the whole line
Width = int | None  # of the terminal; None: as wide as it comes


def lines(steps: Iterable[Step], short: bool, width: Width) -> Iterator[str]:
    """Each step, with its plan unless it is to be short, and what all of it comes to."""
    seen = []
    for step in steps:
        seen.append(step)
        yield from _in_short(step, width) if short else _with_plan(step, width)
    yield from _end(seen)


def _with_plan(step: Step, width: Width) -> Iterator[str]:
    """A head, the verdict, the plan."""
    yield f"{step.name}: {step.does}"
    yield from _wrapped(_verdict(step), width, "  ")
    yield from (f"    {line}" for line in _operators(step.plan, None if width is None else width - 4))
    yield ""


def _in_short(step: Step, width: Width) -> Iterator[str]:
    left = step.leaves_native
    mark = "unknown" if step.why_not else "Python" if left else "native"
    more = f"; {step.why_not or ', '.join(left)}" if step.why_not or left else ""
    yield from _wrapped(f"{mark:<9}{step.name}: {step.does}{more}", width, "", " " * 9)


def _end(steps: Sequence[Step]) -> Iterator[str]:
    leaving = [step.name for step in steps if step.leaves_native]
    unknown = [step.name for step in steps if step.why_not]
    told = len(steps) - len(unknown)
    if leaving:
        yield f"Of {told} steps these leave native code: {', '.join(leaving)}."
    else:
        yield f"None of {told} steps leaves native code."
    if unknown:
        yield f"Not explained: {', '.join(unknown)}."
    yield from _DRIVER


def _verdict(step: Step) -> str:
    if step.why_not:
        return f"not explained: {step.why_not}"
    left = step.leaves_native
    return f"leaves native code: {', '.join(left)}" if left else "native: no row goes to Python"


def _operators(plan: Sequence[Operator], width: Width) -> Iterator[str]:
    if width is None:
        yield from (each.branch + each.text for each in plan)
        return
    for each in plan:
        # A column for each level instead of three: plans are some twenty levels deep.
        line = each.branch[:-3:3] + each.branch[-3:] + _NUMBER.sub("", each.text)
        yield line if len(line) <= width else f"{line[: width - 1]}…"


def _wrapped(text: str, width: Width, indent: str, next_indent: str | None = None) -> list[str]:
    if width is None:
        return [indent + text]
    return wrap(text, width, initial_indent=indent, subsequent_indent=next_indent or indent)
