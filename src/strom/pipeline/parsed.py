"""Names of the columns that stand between the parsed message and the reading."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain.obis import Register


def value_name(register: Register) -> str:
    return f"value_{register.code.replace('.', '_')}"


def id_name(index: int) -> str:
    return f"id_{index}"


def other_name(index: int) -> str:
    return f"other_{index}"


def value_of(register: Register) -> Column:
    return F.col(value_name(register))
