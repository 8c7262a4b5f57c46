"""Spark's errors, as it writes them, become one sentence with the place."""

import pytest

from strom.pipeline.sql.spark_words import as_sentence, refused

SYNTAX = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601 (line 1, pos 14)

== SQL ==
select * form x y z
--------------^^^
"""
COLUMN = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `foo` cannot be resolved. Did you mean one of the following? [`a`]. SQLSTATE: 42703; line 3 pos 7;
'Project ['foo]
+- LocalRelation [a#11]
"""
ZERO = """[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012
== SQL (line 2, position 8) ==
select 1/0
       ^^^
"""
UNQUOTED = """
[INVALID_IDENTIFIER] The unquoted identifier sma-kafka is invalid and must be back quoted as: `sma-kafka`.
Unquoted identifiers can only contain ASCII letters ('a' - 'z', 'A' - 'Z'), digits ('0' - '9'), and underbar ('_').
Unquoted identifiers must also not start with a digit. SQLSTATE: 42602 (line 1, pos 17)

== SQL ==
select * from sma-kafka
"""
SORTING = """Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated DataFrame/Dataset in Complete output mode;
~Sort [n#158L DESC NULLS LAST], true
+- ~Aggregate [meter#120], [meter#120]
"""
FAILED = (
    "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: "
    + ZERO
    + "\n\tat org.x.Y(Z.scala)"
)


PYTHON = (
    "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error "
    "occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python Proxy. "
    "Return Message: Traceback (most recent call last):\n  File 'x', line 1, in call\n    raise e\n"
    "pyspark.errors.exceptions.captured.ArithmeticException: " + ZERO
)
ABORTED = "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure\n\tat org.x.Y(Z.scala)"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            PYTHON,
            "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead (line 2, column 8).",
        ),
        (ABORTED, "Job aborted due to stage failure."),
        (SYNTAX, "Syntax error at or near 'x' (line 1, column 15)."),
        (
            COLUMN,
            "A column, variable, or function parameter with name `foo` cannot be resolved. "
            "Did you mean one of the following? [`a`] (line 3, column 8).",
        ),
        (
            ZERO,
            "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead (line 2, column 8).",
        ),
        (
            UNQUOTED,
            "The unquoted identifier sma-kafka is invalid and must be back quoted as: `sma-kafka` (line 1, column 18).",
        ),
        (
            SORTING,
            "Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated DataFrame/Dataset "
            "in Complete output mode.",
        ),
        (
            FAILED,
            "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead (line 2, column 8).",
        ),
        ("", "ValueError."),
    ],
)
def test_an_error_is_one_sentence(said: str, sentence: str) -> None:
    assert as_sentence(ValueError(said)) == sentence


def test_a_refusal_has_the_exit_code_of_what_a_person_can_mend() -> None:
    assert refused(ValueError("x" * 900)).exit_code == 2
    assert len(str(refused(ValueError("x" * 900)))) < 350
