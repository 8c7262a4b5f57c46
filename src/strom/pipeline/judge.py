"""The rules of `domain/values.py` as columns: what is a number, an id, a name, a time."""

import re
from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import values

NUMBER = f"decimal({values.DIGITS},{values.SCALE})"
# A word that is an id as well as a plain text, whichever rule asks: digits, a capital that no number holds, and so on.
_WORD = r"\A[0-9]{0,20}+[A-DF-HJ-Z][0-9A-Za-z]{0,40}+\z"
_PLAIN = r"\A[0-9A-Za-z :.*_-]*+\z"  # nothing that JSON would have to escape


def with_value(value: Column, use: Callable[[Column], Column]) -> Column:
    """`use` of a value that is computed once."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def is_word(text: Column) -> Column:
    """Most ids and device names are: one pattern in place of many."""
    return text.rlike(_WORD)


def identifier(text: Column) -> Column:
    is_id = (
        matches(text, values.ID_PATTERN) & ~matches(text, values.FRACTION_PATTERN) & ~is_date_or_time(text)
    )
    return F.when(is_word(text), text).when(is_id, text)


def is_bad_identifier(text: Column) -> Column:
    return F.when(is_word(text), False).otherwise(
        text.isNotNull() & identifier(text).isNull() & ~is_date_or_time(text)
    )


def is_date_or_time(text: Column) -> Column:
    return matches(text, f"(?s){values.DATE_PATTERN}")


def owner_name(text: Column) -> Column:
    trimmed = F.trim(text, F.lit(values.BLANKS))
    structure = any_of([F.startswith(trimmed, F.lit(start)) for start in values.STRUCTURE_STARTS])
    return F.when((trimmed != "") & _storable(trimmed) & ~structure, trimmed)


def last_level(topic: Column) -> Column:
    last = F.substring_index(topic, "/", -1)
    level = F.when(last != "", last).when(topic != "", topic)
    return F.when(_storable(level), level)


def _storable(name: Column) -> Column:
    return (F.length(name) <= values.NAME_LENGTH) & ~F.contains(name, F.lit(values.NUL))


def plausible(time: Column) -> Column:
    """A time of the meter in ms, if it can be true."""
    time_ms = (time.try_cast(NUMBER) * 1000).cast("bigint")
    earliest, latest = values.EARLIEST_SECONDS * 1000, F.col("received_ms") + values.AHEAD_SECONDS * 1000
    return F.when((time_ms >= earliest) & (time_ms <= latest), time_ms)


def told_a_time(time: Column) -> Column:
    seconds = time.try_cast(NUMBER)
    return F.coalesce(time.isNotNull() & (seconds.isNull() | (seconds != 0)), F.lit(False))


def other_json(text: Column) -> Column:
    """A value under `other` as JSON: a number where it reads as one, else a text, else nothing.

    The pattern comes first because a cast that fails costs an exception.
    """
    amount = text.try_cast(NUMBER)
    structure = any_of([F.startswith(text, F.lit(start)) for start in values.STRUCTURE_STARTS])
    numeric = matches(text, values.NUMBER_PATTERN)
    plain = ~structure & ~F.contains(text, F.lit(values.NUL)) & ~matches(text, values.INEXACT_PATTERN)
    return (
        F.when(is_word(text), F.concat(F.lit('"'), text, F.lit('"')))
        .when(numeric & amount.isNotNull(), slim(amount.cast("string")))
        .when(plain, quoted(text))
    )


def other_member(code: Column, text: Column) -> Column:
    """A member of `other`; null where the value is not to be kept."""
    return F.concat(quoted(code), F.lit(":"), other_json(text))


def is_bad_other(text: Column) -> Column:
    return F.when(is_word(text), False).otherwise(text.isNotNull() & other_json(text).isNull())


def slim(numbers: Column) -> Column:
    """Numbers with three decimals, in a list or alone, without the zeros at their end: 5.000 is 5."""
    return F.regexp_replace(numbers, r"\.?0+(?=[,}]|$)", "")


def quoted(text: Column) -> Column:
    """A text as JSON; most are plain and need no more than the quotes."""
    listed = F.to_json(F.array(text))
    return F.when(text.rlike(_PLAIN), F.concat(F.lit('"'), text, F.lit('"'))).when(
        text.isNotNull(), F.substring(listed, F.lit(2), F.length(listed) - 2)
    )


def matches(text: Column, pattern: str) -> Column:
    return text.rlike(rf"\A(?:{pattern})\z")


def is_last(character: str, number: Column, text: Column) -> Column:
    """Whether the text ends with this ASCII character, and there are just so many of it.

    Splitting is the quickest way to count, and stops at one too many: a text may hold a million.
    """
    pieces = F.size(F.split(text, re.escape(character), number + 2))
    return (pieces == number + 1) & F.endswith(text, F.lit(character))


def any_of(conditions: Sequence[Column]) -> Column:
    return reduce(Column.__or__, conditions)
