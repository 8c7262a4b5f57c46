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
_GONE_CODES = ("UNAVAILABLE", "UNAUTHENTICATED")


def as_sentence(error: BaseException, lines_before: int = 0) -> str:
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
    return f"{words}{_place(text, lines_before)}."


def refused(error: BaseException, lines_before: int = 0) -> StromError:
    """With `lines_before` the query, so many lines that are not the user's."""
    if is_gone(error):
        return gone()
    return StromError(f"The query cannot be run: {as_sentence(error, lines_before)}")


def gone() -> StromError:
    return StromError("The pipeline that was asked has ended; ask again.", exit_code=1)


def is_gone(error: BaseException) -> bool:
    """Whether nobody answers by Spark Connect any more, or somebody who does not know us."""
    status = getattr(error, "_grpc_status_code", None)
    return getattr(status, "name", None) in _GONE_CODES


def _place(text: str, lines_before: int) -> str:
    if found := _FROM_ONE.search(text):
        return f" (line {int(found[1]) - lines_before}, column {found[2]})"
    if found := _FROM_ZERO.search(text):
        return f" (line {int(found[1]) - lines_before}, column {int(found[2]) + 1})"
    return ""
