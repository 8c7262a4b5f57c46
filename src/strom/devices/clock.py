"""The clocks that simulated devices go by: the system's, and one that stands until it is moved."""

import time


def system_ms() -> int:
    return time.time_ns() // 1_000_000


class HeldClock:
    """Epoch ms that pass only when somebody says so; any thread may read it."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
