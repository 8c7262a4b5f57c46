"""A small process that outlives the supervisor by a moment: if that vanishes, it ends what is left.

Run as `python -m strom.stack.guardian`; reads `+pid` and `-pid` lines on standard input. The end of that
input is the supervisor's end, however it came about. It imports next to nothing, so that it is there at once.
"""

import contextlib
import os
import signal
import subprocess
import sys


class Guardian:
    """The supervisor's side: tells the guardian which process groups to end when the supervisor is gone."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "strom.stack.guardian"]
        # A session of its own: Ctrl-C in the terminal must not end it before its time.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def watch(self, pid: int) -> None:
        self._tell(f"+{pid}\n")

    def forget(self, pid: int) -> None:
        self._tell(f"-{pid}\n")

    def dismiss(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        pid = int(line[1:])
        groups.add(pid) if line[0] == "+" else groups.discard(pid)
    for pid in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
