"""The rules count in whole thousandths: what Spark makes of a number must be exact, to the largest that a reading may hold."""

from decimal import Decimal

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline.thousandths import thousandths

NUMBERS = {
    "0": 0,
    "0.001": 1,
    "-0.999": -999,
    "230.1": 230_100,
    "12345678.5": 12_345_678_500,
    "999999999999999.999": 10**18 - 1,
    "-999999999999999.999": 1 - 10**18,
}


def test_a_number_is_its_thousandths_and_what_is_absent_stays_so(spark: SparkSession) -> None:
    rows = [(text, Decimal(text)) for text in NUMBERS] + [("none", None)]
    frame = spark.createDataFrame(rows, "text string, number decimal(18,3)")
    found = frame.select("text", thousandths(F.col("number")).alias("found"))
    assert dict(found.dtypes)["found"] == "bigint"
    assert {row.text: row.found for row in found.collect()} == NUMBERS | {"none": None}
