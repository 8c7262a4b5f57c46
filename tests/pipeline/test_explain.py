"""`strom pipeline explain`: no step but the side query hands rows to Python, and one that did would be named."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strom.cli import plan_view
from strom.errors import StromError
from strom.pipeline.explain import Operator, Step, step_of, steps
from strom.pipeline.sql.explain import query_steps
from strom.settings import GroupSettings, Settings
from tests.conftest import settings_in
from tests.streams.writing import strom

STEPS = [
    "normalise",
    "side",
    "parts",
    "read",
    "marks",
    "archive",
    "arrivals",
    "settlement",
    "late",
]


def test_every_step_has_a_plan_and_all_but_the_side_query_stay_in_native_code(spark: SparkSession) -> None:
    groups = {"small": GroupSettings(meters=["haus-*"], limit_w=11_000)}
    found = list(steps(spark, Settings(groups=groups)))
    assert [step.name for step in found] == STEPS
    assert {step.name: step.leaves_native for step in found if step.leaves_native} == {
        "side": ["BatchEvalPython"]
    }
    assert all(len(step.plan) > 3 for step in found)


def test_a_python_function_is_named(spark: SparkSession) -> None:
    doubled = F.udf(lambda number: number * 2, "bigint", useArrow=False)
    step = step_of("x", "doubles", spark.range(3).select(doubled("id")))
    assert step.leaves_native == ["BatchEvalPython"]
    told = list(plan_view.lines([step], short=True, width=100))
    assert told[0] == "Python   x: doubles; BatchEvalPython"
    assert told[1] == "Of 1 steps these leave native code: x."


def test_a_word_in_a_query_is_no_operator(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 'a\n+ BatchEvalPython' AS `ArrowEvalPython` FROM range(2)")
    step = step_of("x", "", frame)
    assert step.leaves_native == []
    assert [each.name for each in step.plan] == ["Project", "Range"]
    assert "a\\n+ BatchEvalPython" in step.plan[0].text


def test_a_plan_is_as_wide_as_the_terminal_and_whole_elsewhere() -> None:
    plan = (Operator("", "*(1) Project [" + "import_w#12L, " * 20), Operator("      :  +- ", "Scan [id#1]"))
    step = Step("x", "does", plan)
    told, verdict, project, scan, *_ = plan_view.lines([step], short=False, width=60)
    assert (told, verdict) == ("x: does", "  native: no row goes to Python")
    assert len(project) == 60
    assert project.startswith("    *(1) Project [import_w, import_w, ")
    assert project.endswith("…")
    assert scan == "      :+- Scan [id]"
    whole = list(plan_view.lines([step], short=False, width=None))
    assert whole[2:4] == [f"    {each.branch}{each.text}" for each in plan]


def test_queries_of_users_are_explained_without_a_server(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "high.sql").write_text("-- into: high\nSELECT meter AS key, import_w FROM readings")
    (tmp_path / "other.sql").write_text("-- into: lines\nSELECT value FROM `other`")
    (tmp_path / "wrong.sql").write_text("-- into: high\nSELECT wat FROM readings")
    (tmp_path / "table.sql").write_text("-- into: areas\nSELECT area FROM meters")
    own = settings_in(tmp_path / "home")
    found = {step.name: step for step in query_steps(spark, own, tmp_path)}
    assert list(found) == ["high.sql", "other.sql", "table.sql", "wrong.sql"]
    assert found["high.sql"].does == "a query of yours, into high"
    assert found["high.sql"].plan[-1].text.startswith("StreamingRelation kafka")
    assert found["other.sql"].leaves_native == []
    assert "Postgres at" in found["table.sql"].why_not
    assert "`wat` cannot be resolved" in found["wrong.sql"].why_not
    told = list(plan_view.lines(found.values(), short=True, width=None))
    assert told[0] == "native   high.sql: a query of yours, into high"
    assert "Not explained: table.sql, wrong.sql." in told


def test_a_folder_of_queries_that_is_none_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StromError, match="is not a folder"):
        list(query_steps(spark, Settings(home=tmp_path), tmp_path / "none"))


def test_the_command_prints_the_plans_and_needs_no_flag_for_it(tmp_path: Path) -> None:
    done = strom(settings_in(tmp_path), "pipeline", "explain")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("normalise: sma-kafka to readings and dead letters, in real-time mode\n")
    assert done.stdout.count("StreamingRelation kafka") == 1
    assert f"Of {len(STEPS)} steps these leave native code: side.\n" in done.stdout
