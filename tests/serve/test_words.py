"""The page has words for every kind of alert, in both of its languages."""

from importlib.resources import files

import pytest

from strom.domain.alerts import KINDS, VOLTAGE

WORDS = files("strom.serve").joinpath("static/strings.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_alert_has_a_sentence_in_both_languages(kind: str) -> None:
    keys = [f"alert.{kind}.high", f"alert.{kind}.low"] if kind == VOLTAGE else [f"alert.{kind}"]
    for key in keys:
        assert WORDS.count(f'"{key}":') == 2
