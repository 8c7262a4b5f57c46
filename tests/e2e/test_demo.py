"""`strom demo` as people run it: it ends by itself, and tells that nothing was lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from strom.settings import Settings

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]


def test_the_demo_ends_by_itself_and_counts_every_reading(own_settings: Settings, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "strom",
        "demo",
        "--for",
        "15",
        "--meters",
        "8",
        "--history",
        "2h",
        "--json",
    ]
    environment = {**os.environ, **own_settings.as_environment()}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["nothing_lost"]
    assert summary["published"] == summary["raw"] == summary["readings"] + summary["dead_letters"]
    assert summary["published"] > 8 * 60
    assert summary["quarter_hours"] >= 7 * 7
    assert summary["readings_p50_ms"] is not None
    assert summary["page_p50_ms"] is not None
    assert "The page is at http://127.0.0.1:" in done.stderr
