"""What a replay is asked to do: cut into pieces that lose nothing, and refused in one sentence where it makes no sense."""

import pytest

from strom.errors import StromError
from strom.pipeline.replay.plan import HOUR_MS, Piece, Plan, by_meter, by_time, by_version, unknown
from strom.settings import RuleSettings, Settings


def test_hours_are_joined_until_a_piece_has_enough_and_never_cut() -> None:
    hours = {0: 40, HOUR_MS: 50, 2 * HOUR_MS: 20, 9 * HOUR_MS: 500, 10 * HOUR_MS: 1}
    assert by_time(hours, most=100) == [
        Piece(0, 2 * HOUR_MS, 90),
        Piece(2 * HOUR_MS, 3 * HOUR_MS, 20),
        Piece(9 * HOUR_MS, 10 * HOUR_MS, 500),
        Piece(10 * HOUR_MS, 11 * HOUR_MS, 1),
    ]


def test_meters_are_grouped_in_order_and_each_is_in_one_group() -> None:
    groups = list(by_meter({"c": 60, "a": 30, "b": 60, "d": 900}, most=100))
    assert groups == [(["a", "b"], 90), (["c"], 60), (["d"], 900)]
    assert list(by_meter({})) == []


def test_versions_of_the_lake_are_joined_in_their_order() -> None:
    assert by_version({7: 60, 3: 30, 5: 60, 9: 900}, most=100) == [(5, 90), (7, 60), (9, 900)]


def test_meters_are_named_or_fitted_by_a_pattern() -> None:
    plan = Plan(meters=("haus-*", "wohnung-1"))
    assert [name for name in ("haus-1", "haus-2", "wohnung-1", "wohnung-12") if plan.wants(name)] == [
        "haus-1",
        "haus-2",
        "wohnung-1",
    ]
    assert Plan().wants("any")
    assert unknown(("haus-*", "nobody"), ["haus-1"]) == ["nobody"]


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ({"since": 2, "until": 2}, "is not after --from"),
        ({"source": "kafka", "into": "x"}, "readings are in the lake or in the topic"),
        ({"into": "a; DROP"}, "is no name for a schema"),
        ({"source": "topic"}, "a replay in place reads the lake"),
        ({"anew": True}, "a replay in place drops nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(plan: dict[str, object], sentence: str) -> None:
    with pytest.raises(StromError, match=sentence):
        Plan(**plan)  # type: ignore[arg-type]


def test_a_replay_goes_on_only_under_the_same_rules() -> None:
    settings = Settings()
    other = settings.model_copy(update={"rules": RuleSettings(noise_wh=15)})
    assert Plan(meters=("a", "b")).key(settings) == Plan(meters=("b", "a")).key(settings)
    assert Plan().key(settings) != Plan().key(other)
    assert Plan(since=1).key(settings) != Plan().key(settings)
