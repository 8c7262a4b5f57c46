"""The JVM does not start with two garbage collectors."""

import pytest

from strom.pipeline.session import _java_options


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (None, "-XX:-DontCompileHugeMethods -XX:+UseParallelGC"),
        ("-Xss4m", "-XX:-DontCompileHugeMethods -XX:+UseParallelGC -Xss4m"),
        ("-Xss4m -XX:+UseG1GC", "-XX:-DontCompileHugeMethods -Xss4m -XX:+UseG1GC"),
        ("-XX:+UseZGC", "-XX:-DontCompileHugeMethods -XX:+UseZGC"),
    ],
)
def test_a_collector_that_was_chosen_takes_the_place_of_ours(more: str | None, expected: str) -> None:
    assert _java_options(more) == expected
