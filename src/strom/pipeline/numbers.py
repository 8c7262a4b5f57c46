"""The numbers of a reading, from the texts of the message to members of its JSON.

Nearly every message holds its numbers in a form that a reading may show: then the texts are taken as they are. One
pattern over all of them tells. Else each is read as a decimal, judged and written anew.
"""

from collections.abc import Mapping
from functools import reduce
from os.path import commonprefix

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import values
from strom.domain.obis import ERROR_VALUES, MEASURED, Register
from strom.pipeline.judge import NUMBER, any_of, slim, with_value

Texts = Mapping[Register, Column]  # what the message says for each register

_DIRECTIONS = ("import", "export")
_WHOLE_DIGITS = values.DIGITS - values.SCALE
_PLAIN_NUMBER = rf"-?+(?:[1-9][0-9]{{0,{_WHOLE_DIGITS - 1}}}+|0)(?:\.[0-9]{{1,{values.SCALE}}}+)?+"
# No value can hold a quote where the message has no escapes, unless it begins with a bracket. Each name is spelt out:
# Java compares a word at once, and any word of letters letter by letter.
_ALL_PLAIN = "".join(
    [r"\A", *(rf'(?:,?+"{register.field}":{_PLAIN_NUMBER})?+' for register in MEASURED), r"\z"]
)
_ERROR_START = commonprefix(ERROR_VALUES)  # noqa: RUF071 - one search in place of several
_BY_FIELD = {register.field: register for register in MEASURED}


def may_stand(texts: Texts, members: Column, escaped: Column) -> Column:
    """Whether all values are numbers in a form that a reading may show, and none begins as the error values do; `members` are they as they stand."""
    has_error = F.contains(members, F.lit(_ERROR_START))
    lacks_total = any_of([_lacks_total(texts, direction) for direction in _DIRECTIONS])
    return ~escaped & members.rlike(_ALL_PLAIN) & ~has_error & ~lacks_total


def as_they_stand(texts: Texts) -> Column:
    """The members of the JSON with the texts of the message."""
    return F.concat_ws(
        ",", *(F.concat(F.lit(f'"{register.field}":'), texts[register]) for register in MEASURED)
    )


def listed(texts: Texts) -> Column:
    """The texts as one array, for `judged`."""
    return F.array(*(texts[register] for register in MEASURED))


def judged(listed: Column) -> Column:
    """`members` of the JSON, whether a value was `bad`, whether a total is `summed` from tariffs."""
    texts = {register: F.get(listed, F.lit(index)) for index, register in enumerate(MEASURED)}

    def written(found: Column) -> Column:
        totals = {f"{way}_wh": _total(texts, found, way) for way in _DIRECTIONS}
        bad = any_of([texts[register].isNotNull() & found[register.field].isNull() for register in MEASURED])
        members = F.to_json(F.struct(*(totals.get(field, found[field]).alias(field) for field in _BY_FIELD)))
        summed = any_of(
            [found[f"{way}_wh"].isNull() & totals[f"{way}_wh"].isNotNull() for way in _DIRECTIONS]
        )
        return F.struct(
            slim(F.substring(members, F.lit(2), F.length(members) - 2)).alias("members"),
            bad.alias("bad"),
            summed.alias("summed"),
        )

    typed = F.struct(*(_number(texts[register]).alias(register.field) for register in MEASURED))
    return with_value(typed, written)


def _tariffs(direction: str) -> list[Register]:
    return [register for register in MEASURED if register.field.startswith(f"{direction}_t")]


def _lacks_total(texts: Texts, direction: str) -> Column:
    total = texts[_BY_FIELD[f"{direction}_wh"]]
    return total.isNull() & F.coalesce(*(texts[tariff] for tariff in _tariffs(direction))).isNotNull()


def _number(text: Column) -> Column:
    value = text.try_cast(NUMBER)
    return F.when(~value.isin([F.lit(error).cast(NUMBER) for error in ERROR_VALUES]), value)


def _total(texts: Texts, found: Column, direction: str) -> Column:
    """The total; where none came the tariffs' sum, unless a tariff that came cannot be read."""
    tariffs = _tariffs(direction)
    spoiled = any_of([texts[tariff].isNotNull() & found[tariff.field].isNull() for tariff in tariffs])
    zero = F.lit(0).cast(NUMBER)
    summed = reduce(Column.__add__, (F.coalesce(found[tariff.field], zero) for tariff in tariffs))
    return F.when(_lacks_total(texts, direction) & ~spoiled, summed.try_cast(NUMBER)).otherwise(
        found[f"{direction}_wh"]
    )
