"""Sums of a band must be exact, also of values that no meter should send."""

from decimal import Decimal

from pyspark.sql import SparkSession

from strom.domain.run_kinds import PHASES
from strom.pipeline.bands import as_arrays, band_columns
from strom.pipeline.given import given

LARGEST = 10**18 - 1  # a reading's largest number, in thousandths


def test_sums_beyond_64_bits_are_exact(spark: SparkSession) -> None:
    imported = [LARGEST] * 20 + [1, -5]
    exported = [-LARGEST] * 20 + [2**31, None]
    rows = [(*pair, 230_000, None, -1) for pair in zip(imported, exported, strict=True)]
    schema = ", ".join(f"{name} bigint" for name in ("import_p", "export_p", *PHASES))
    (row,) = as_arrays(given(spark, rows, schema).agg(*band_columns())).collect()
    assert row["totals"] == f"{{{sum(imported)},{-LARGEST * 20 + 2**31},{230_000 * 22},0,-22}}"
    assert row["counts"] == "{22,21,22,0,22}"
    assert row["lows"] == f"{{-5,{-LARGEST},230000,NULL,-1}}"
    assert row["highs"] == f"{{{LARGEST},{2**31},230000,NULL,-1}}"
    assert (row["l1"], row["l2"]) == (Decimal(230_000 * 22), None)
