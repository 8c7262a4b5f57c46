"""`strom pipeline run` as a process of its own, with only what its stages need."""

import os
import signal
import subprocess
import sys
import time

import pytest

from strom.settings import PostgresSettings, Settings
from strom.stack.supervisor import Stack

pytestmark = pytest.mark.stack
SECONDS = 120.0


def test_normalise_alone_needs_no_postgres_and_stops_when_told(own_settings: Settings) -> None:
    nowhere = PostgresSettings(url="postgresql://strom@127.0.0.1:1/strom")
    with Stack(own_settings, ["kafka"]):
        settings = own_settings.model_copy(update={"postgres": nowhere})
        command = [sys.executable, "-m", "strom", "pipeline", "run", "--only", "normalise"]
        environment = {**os.environ, **settings.as_environment()}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            ready = settings.home / "run" / "pipeline.ready"
            deadline = time.monotonic() + SECONDS
            while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=SECONDS)
    assert "the pipeline is running: normalise" in errors
    assert process.returncode == 0, errors
