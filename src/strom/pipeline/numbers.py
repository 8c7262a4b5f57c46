"""The numbers of a reading, from the texts of the message to members of its JSON.

Nearly every message holds its numbers in the form in which the reading shows them: then the texts are taken as they
are. One pattern over all of them tells. Else each is read as a decimal, judged and written anew.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain import values
from strom.domain.obis import ERROR_VALUES, MEASURED, Register
from strom.pipeline.judge import NUMBER, any_of, count_of, slim, with_value
from strom.pipeline.message import value_of

_DIRECTIONS = ("import", "export")
_WHOLE_DIGITS = values.DIGITS - values.SCALE
_SLIM_NUMBER = (
    rf"(?:0|-?[1-9][0-9]{{0,{_WHOLE_DIGITS - 1}}}|-?0(?=\.))(?:\.[0-9]{{0,{values.SCALE - 1}}}[1-9])?"
)
_ALL_SLIM = rf"\A(?:{_SLIM_NUMBER}\|)*+\z"
_BY_FIELD = {register.field: register for register in MEASURED}


def numbers() -> Column:
    """`members` of the JSON, whether a value was `bad`, whether a total is `summed` from tariffs."""
    texts = [value_of(register) for register in MEASURED]
    listed = _without_point_zero(F.concat_ws("|", *texts), "|")
    came = reduce(Column.__add__, (text.isNotNull().cast("int") for text in texts))
    all_slim = listed.rlike(_ALL_SLIM) & (count_of("|", listed) == came)
    has_error = any_of([F.contains(listed, F.lit(error)) for error in ERROR_VALUES])
    lacks_total = any_of([_lacks_total(direction) for direction in _DIRECTIONS])
    as_they_are = (came == 0) | (all_slim & ~has_error & ~lacks_total)
    return F.when(as_they_are, _as_they_are()).otherwise(_judged())


def _without_point_zero(listed: Column, end: str) -> Column:
    """The list with its end mark; 231.0 is 231 (a float of JSON is written so)."""
    return F.replace(F.concat(listed, F.lit(end)), F.lit(f".0{end}"), F.lit(end))


def _as_they_are() -> Column:
    members = (F.concat(F.lit(f'"{register.field}":'), value_of(register)) for register in MEASURED)
    listed = _without_point_zero(F.concat_ws(",", *members), ",")
    return _result(F.substring(listed, F.lit(1), F.length(listed) - 1), F.lit(False), F.lit(False))


def _result(members: Column, bad: Column, summed: Column) -> Column:
    return F.struct(members.alias("members"), bad.alias("bad"), summed.alias("summed"))


def _tariffs(direction: str) -> list[Register]:
    return [register for register in MEASURED if register.field.startswith(f"{direction}_t")]


def _lacks_total(direction: str) -> Column:
    total = value_of(_BY_FIELD[f"{direction}_wh"])
    return total.isNull() & F.coalesce(*map(value_of, _tariffs(direction))).isNotNull()


def _judged() -> Column:
    def written(found: Column) -> Column:
        totals = {f"{way}_wh": _total(found, way) for way in _DIRECTIONS}
        bad = any_of(
            [value_of(register).isNotNull() & found[register.field].isNull() for register in MEASURED]
        )
        listed = F.to_json(F.struct(*(totals.get(field, found[field]).alias(field) for field in _BY_FIELD)))
        summed = any_of(
            [found[f"{way}_wh"].isNull() & totals[f"{way}_wh"].isNotNull() for way in _DIRECTIONS]
        )
        return _result(slim(F.substring(listed, F.lit(2), F.length(listed) - 2)), bad, summed)

    typed = F.struct(*(_number(register).alias(register.field) for register in MEASURED))
    return with_value(typed, written)


def _number(register: Register) -> Column:
    value = value_of(register).try_cast(NUMBER)
    return F.when(~value.isin([F.lit(error).cast(NUMBER) for error in ERROR_VALUES]), value)


def _total(found: Column, direction: str) -> Column:
    """The total; where none came the tariffs' sum, unless a tariff that came cannot be read."""
    tariffs = _tariffs(direction)
    spoiled = any_of([value_of(tariff).isNotNull() & found[tariff.field].isNull() for tariff in tariffs])
    zero = F.lit(0).cast(NUMBER)
    summed = reduce(Column.__add__, (F.coalesce(found[tariff.field], zero) for tariff in tariffs))
    return F.when(_lacks_total(direction) & ~spoiled, summed.try_cast(NUMBER)).otherwise(
        found[f"{direction}_wh"]
    )
