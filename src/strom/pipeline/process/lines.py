"""Takes what Spark has folded to the executors' Python as one row for each meter: lines of JSON, each a list that begins with its kind."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def line(kind: str, *values: Column) -> Column:
    """Numbers and truth values as they are, null where there is none; texts are `quoted` or `plain` first."""
    texts = [F.coalesce(value.cast("string"), F.lit("null")) for value in values]
    return F.concat(F.lit(f'["{kind}",'), F.concat_ws(",", *texts), F.lit("]")).alias("line")


def plain(text: Column) -> Column:
    """A text, or a number beyond 64 bits, in which nothing has to be escaped."""
    return F.concat(F.lit('"'), text.cast("string"), F.lit('"'))


def by_meter(lines: DataFrame) -> DataFrame:
    """`meter` and `lines`, of a frame that is divided by meter."""
    gathered = F.concat(F.lit("["), F.concat_ws(",", F.collect_list("line")), F.lit("]"))
    return lines.groupBy("meter").agg(gathered.alias("lines"))
