"""docs/api.md tells of every address that there is, and of no other."""

import re
from pathlib import Path

from strom.serve.app import make_app
from strom.serve.assets import Assets
from strom.serve.service import Service
from strom.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_of_the_api_names_every_address() -> None:
    described = make_app(Service(Settings()), Assets()).openapi()["paths"]
    documented = set(re.findall(r"^\| `(/api/v1[^`?]*)", DOCS.read_text(), re.MULTILINE))
    assert documented == set(described)
