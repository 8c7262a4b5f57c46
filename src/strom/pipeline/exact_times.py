"""Compares times with a bound that differs from batch to batch, without new code for each bound.

Spark writes literals of times and whole numbers into the Java code that it generates, so a batch with another bound runs
code that has to be compiled again, and is interpreted until then. Decimals are handed over beside the code.
"""

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

_DIGITS = "decimal(20,0)"


def is_from(time: str, bound_ms: int) -> Column:
    return _apart(time, bound_ms) >= 0


def is_before(time: str, bound_ms: int) -> Column:
    return _apart(time, bound_ms) < 0


def _apart(time: str, bound_ms: int) -> Column:
    """A difference: a comparison would be turned back into one of whole numbers."""
    return F.unix_millis(time).cast(_DIGITS) - F.lit(Decimal(bound_ms)).cast(_DIGITS)
