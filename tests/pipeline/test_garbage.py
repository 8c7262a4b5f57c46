"""The collector must be at work again after a batch, however the batch ends; and stay off where it was off."""

import gc
from collections.abc import Iterator

import pytest

from strom.pipeline.garbage import uncollected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.enable()


def test_it_is_at_work_again_after_the_block() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_at_work_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="a batch failed"), uncollected():
        raise ValueError("a batch failed")
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()
