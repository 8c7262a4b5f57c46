"""Numbers of a reading as whole thousandths, which is how the rules count."""

from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn


def thousandths(number: Column) -> Column:
    """Of a decimal with three places, as Spark holds it: one whole number.

    Multiplied by 1000 it would become a big decimal of Java's and back, for every number of every reading. Spark has an
    expression that takes the whole number as it is, and no function of that name.
    """
    context = SparkContext._active_spark_context
    assert context is not None  # noqa: S101 - whoever has a column has a session
    jvm: Any = context._jvm
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    unscaled = jvm.org.apache.spark.sql.catalyst.expressions.UnscaledValue
    return ClassicColumn(columns.column(unscaled(columns.expression(number._jc))))
