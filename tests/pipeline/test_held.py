"""What is held must be the same frame, computed once and let go afterwards."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.pipeline.held import held


def test_a_held_frame_is_computed_once_and_let_go(spark: SparkSession) -> None:
    columns = (F.rand().alias("random"), F.array(F.lit("a")).alias("flags"), F.lit(None).alias("nothing"))
    frame = spark.range(100).select("id", *columns)
    kept_before = spark.sparkContext._jsc.getPersistentRDDs().size()
    with held(frame) as same:
        assert same.dtypes == frame.dtypes
        first = same.collect()
        assert sorted(first) == sorted(same.collect())
        assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept_before + 1
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept_before


def test_it_is_let_go_also_after_an_error(spark: SparkSession) -> None:
    kept_before = spark.sparkContext._jsc.getPersistentRDDs().size()
    try:
        with held(spark.range(10)) as same:
            same.count()
            raise LookupError
    except LookupError:
        pass
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept_before
