"""How a record and its message lie in columns: Kafka's source, the form of a register's entry, how strictly JSON is read."""

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from strom.devices.registry import DIALECTS
from strom.domain.obis import FREQUENT_OTHERS, MEASURED, METER_NUMBERS, Register
from strom.pipeline.judge import matches
from strom.streams import topics

# What Spark's Kafka source gives, as far as the pipeline reads it.
KAFKA_SOURCE = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key:string,value:binary>>"
)
STRICT = {
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
    "allowUnquotedFieldNames": "false",
}
# A number with an exponent of five digits or more: Java expands 1e999999999 to a gigabyte. Outside of strings only.
_HUGE_EXPONENT = r"[0-9.][eE][+-]?[0-9]{5}"
CORRUPT = "_corrupt"
SOURCE_PATTERN = "[a-z0-9-]{1,32}"  # anything else was not written by a door of ours
OTHER_SOURCE = topics.SOURCE_KAFKA
_USUAL_SOURCES = ("mqtt", "rest", "modbus", "http")
FIELD_REGISTERS = (*MEASURED, *METER_NUMBERS)
FIELD_SPELLINGS = tuple(spelling for register in FIELD_REGISTERS for spelling in register.spellings)


def _entry(time: DataType) -> StructType:
    return StructType([StructField("value", StringType()), StructField("time", time)])


def _message(entry: StructType) -> StructType:
    names = (*FIELD_SPELLINGS, *FREQUENT_OTHERS)
    return StructType(
        [
            StructField("name", StringType()),
            *(StructField(name, entry) for name in names),
            StructField(CORRUPT, StringType()),
        ]
    )


ENTRY = _entry(StringType())  # whatever the time is, as text
SCHEMA = _message(_entry(LongType()))  # a time is a whole number; any other is an error, and looked at again
_SCHEMA_OF_TEXTS = _message(ENTRY)


def members(text: Column) -> Column:
    """The payload by the fixed schema."""
    return F.from_json(text, SCHEMA, {**STRICT, "columnNameOfCorruptRecord": CORRUPT})


def members_as_texts(text: Column) -> Column:
    """The same with the times as texts."""
    return F.from_json(text, _SCHEMA_OF_TEXTS, {**STRICT, "columnNameOfCorruptRecord": CORRUPT})


def entries(message: Callable[[str], Column]) -> Mapping[Register, Column]:
    """For each register with a field the entry under the first spelling that is there."""
    return {register: F.coalesce(*map(message, register.spellings)) for register in FIELD_REGISTERS}


def parsable(value: Column) -> Column:
    """Null where a number would keep the parser busy for minutes. Strings are taken out only where they may hold one."""
    without_strings = F.regexp_replace(F.regexp_replace(value, r"(?s)\\.", ""), r'"[^"]*+"', "")
    return F.when(~value.rlike(_HUGE_EXPONENT) | ~without_strings.rlike(_HUGE_EXPONENT), value)


def header(name: str) -> Column:
    """The last header of this name; null where there is none."""
    none = F.array().cast("array<struct<key:string,value:binary>>")
    return F.map_from_entries(F.coalesce("headers", none)).getItem(name)


def told_source() -> Column:
    """The door that the record came in by."""
    source = header(topics.HEADER_SOURCE).cast("string")
    usual = source.isin(*_USUAL_SOURCES) | matches(source, SOURCE_PATTERN)
    return F.when(usual, source).otherwise(OTHER_SOURCE)


def goes_aside() -> Column:
    """Whether native columns cannot read the record: a part of a large message, or a dialect of which they know only the name."""
    part = header(topics.HEADER_PART).isNotNull()
    names = [dialect.name for dialect in DIALECTS.values() if not dialect.native]
    return part | header(topics.HEADER_DIALECT).cast("string").isin(*names) if names else part
