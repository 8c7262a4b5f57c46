"""The whole stack, as `strom up` starts it, once for all tests of the whole way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strom.settings import Settings
from strom.stack.supervisor import Stack


@pytest.fixture(scope="package")
def whole(
    tmp_path_factory: pytest.TempPathFactory, make_settings: Callable[[Path], Settings]
) -> Iterator[Stack]:
    home: Path = tmp_path_factory.mktemp("whole") / "home"
    with Stack(make_settings(home), ["kafka", "mqtt", "postgres", "bridge", "pipeline"]) as stack:
        yield stack
