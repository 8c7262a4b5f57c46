"""How a record and its message lie in columns: Kafka's source, the form of a register's entry, how strictly JSON is read, and the columns' names."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from strom.domain.obis import MEASURED, METER_NUMBERS, Register

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
ENTRY = StructType([StructField("value", StringType()), StructField("time", StringType())])
FIELD_REGISTERS = (*MEASURED, *METER_NUMBERS)
FIELD_SPELLINGS = tuple(spelling for register in FIELD_REGISTERS for spelling in register.spellings)


def value_name(register: Register) -> str:
    return f"value_{register.code.replace('.', '_')}"


def value_of(register: Register) -> Column:
    """What the message says for this register, as text."""
    return F.col(value_name(register))


def other_name(index: int) -> str:
    return f"other_{index}"
