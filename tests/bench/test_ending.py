"""A benchmark that is ended must leave nothing behind, whoever ends it."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from strom.settings import Settings


@pytest.mark.stack
def test_a_benchmark_that_is_ended_leaves_no_server_and_no_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "strom", "bench", "pipeline", "--only", "growth"]
    environment = Settings(home=tmp_path).child_environment()
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        ready = next((line for line in process.stderr if line.startswith("Kafka is ready")), None)
        assert ready is not None
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
    assert (process.returncode, list(tmp_path.iterdir())) == (130, []), rest
    host, port = ready.split()[-1].split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
