"""Rows of the driver must come out as they went in, whatever a meter is called."""

from pyspark.sql import SparkSession

from strom.pipeline.given import given


def test_names_and_numbers_come_out_as_they_went_in(spark: SparkSession) -> None:
    rows = [("haus", 1), ('mit "Zeichen" \\ \t und 💡', -(2**62)), ("", None)]
    frame = given(spark, rows, "meter string, since bigint")
    assert list(map(tuple, frame.collect())) == rows
    assert [field.simpleString() for field in frame.schema] == ["meter:string", "since:bigint"]


def test_no_rows_are_an_empty_frame(spark: SparkSession) -> None:
    assert given(spark, [], "meter string").collect() == []
