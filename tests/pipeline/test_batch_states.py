"""A batch that is repeated finds the state that was there before it."""

from pathlib import Path

from pyspark.sql import SparkSession

from strom.pipeline.batch_states import BatchStates

LAST = 2**62


def test_without_a_state_there_is_none(spark: SparkSession, tmp_path: Path) -> None:
    assert BatchStates(spark, str(tmp_path / "states")).before(0) is None


def test_each_batch_finds_the_newest_state_before_it(spark: SparkSession, tmp_path: Path) -> None:
    states = BatchStates(spark, str(tmp_path / "states"))
    states.save(3, {"ä": [1]})
    states.save(7, {"ä": [2]})
    again = BatchStates(spark, str(tmp_path / "states"))
    assert again.before(3) is None
    assert again.before(7) == (3, {"ä": [1]})
    assert again.before(8) == again.before(LAST) == (7, {"ä": [2]})


def test_a_batch_that_is_repeated_and_what_is_changed_after_it_take_the_place_of_its_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    states = BatchStates(spark, str(tmp_path / "states"))
    for number, state in ((3, "a"), (7, "b"), (7, "c"), (7, "d")):
        states.save(number, state)
    assert states.before(7) == (3, "a")
    assert states.before(LAST) == (7, "d")


def test_only_what_a_repeat_needs_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    states = BatchStates(spark, str(tmp_path))
    for number in range(20):
        states.save(number, number)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == [
        "18-0",
        "19-0",
    ]


def test_states_of_a_checkpoint_that_is_gone_are_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    states = BatchStates(spark, str(tmp_path))
    states.save(100, "of another life")
    states.save(0, "anew")
    assert states.before(LAST) == (0, "anew")
