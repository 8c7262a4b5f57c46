"""The guardian: what a supervisor that vanished has left behind goes with it, grandchildren included."""

import subprocess
import sys

from strom.stack.processes import await_end, birth

SUPERVISOR = """
import os, signal, subprocess
from strom.stack.guardian import Guardian

guardian = Guardian()
started = []
for _ in range(2):
    child = subprocess.Popen(
        ["sh", "-c", "sleep 1000 & echo $!; wait"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )
    guardian.watch(child.pid)
    started.append((child.pid, int(child.stdout.readline())))
guardian.forget(started[1][0])
print(*started[0], *started[1], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_children_and_grandchildren_of_a_killed_supervisor_are_ended_and_no_others() -> None:
    command = [sys.executable, "-c", SUPERVISOR]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    child, grandchild, forgotten, forgotten_child = map(int, done.stdout.split())
    try:
        assert await_end(child, 30)
        assert await_end(grandchild, 30)
        assert birth(forgotten) is not None
    finally:
        subprocess.run(["kill", "-9", str(forgotten), str(forgotten_child)], check=False)
