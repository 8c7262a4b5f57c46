"""Spark's many-lined errors as one sentence with the place in the query; knows nothing of what was asked."""

import re

from strom.errors import StromError

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9]*_[A-Z0-9_.]+)\]\s+")
_STREAM = "terminated with exception: "
# These only say that something inside them failed: a query, a batch, a task.
_WRAPPERS = frozenset({"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED"})
# Where the words for people end: the code of the standard, the plan, the query once more, the stack.
_END = re.compile(r"\s*SQLSTATE:|;\s*\n|;\s*(?=line \d+ pos)|\n== SQL|\n\s*at |\nJVM stacktrace")
_FROM_ZERO = re.compile(r"\(?line (\d+),? pos (\d+)\)?")
_FROM_ONE = re.compile(r"== SQL \(line (\d+), position (\d+)\)")
# Advice that nobody can follow here: settings of the session are not the query's to change.
_NO_ADVICE = re.compile(
    r"\s*(If necessary set|To tolerate|Please fill|If you did not)[^.]*(\.[^.\s][^.]*)*\."
)
_LONGEST = 300


def as_sentence(error: BaseException) -> str:
    """What is wrong, and at which line and column where Spark tells."""
    text = str(error)
    conditions = [found for found in _CONDITION.finditer(text) if found[1] not in _WRAPPERS]
    if conditions:
        text = text[conditions[0].end() :]
    elif _STREAM in text:
        text = text[text.rfind(_STREAM) + len(_STREAM) :]
    said = _END.split(text, maxsplit=1)[0].strip().splitlines()
    words = _NO_ADVICE.sub("", said[0] if said else type(error).__name__).strip().rstrip(".;: ")
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}…"
    return f"{words}{_place(text)}."


def refused(error: BaseException) -> StromError:
    return StromError(f"The query cannot be run: {as_sentence(error)}")


def _place(text: str) -> str:
    if found := _FROM_ONE.search(text):
        return f" (line {found[1]}, column {found[2]})"
    if found := _FROM_ZERO.search(text):
        return f" (line {found[1]}, column {int(found[2]) + 1})"
    return ""
