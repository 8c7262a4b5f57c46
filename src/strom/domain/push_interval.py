"""How often a meter sends, as most of its steps say; a majority vote that needs two numbers of memory."""

from dataclasses import dataclass

LONGEST_MS = (
    7_200_500  # a step of more than two hours is an outage, not an interval; it is told in whole seconds
)
MOST_VOTES = 1_000  # a meter that was set to another interval is believed after as many steps


def is_push(step_ms: float) -> bool:
    """Whether a step from one reading of a meter to the next may be its push interval."""
    return 0 < step_ms <= LONGEST_MS


@dataclass(frozen=True, slots=True)
class PushInterval:
    seconds: int | None = None
    votes: int = 0

    def observe(self, step_ms: float, steps: int) -> "PushInterval":
        """Take `steps` steps of this mean length into account."""
        if not is_push(step_ms):
            return self
        seconds = max(1, round(step_ms / 1000))
        if seconds == self.seconds:
            return PushInterval(seconds, min(MOST_VOTES, self.votes + steps))
        if self.seconds is not None and steps <= self.votes:
            return PushInterval(self.seconds, self.votes - steps)
        return PushInterval(seconds, min(MOST_VOTES, steps - self.votes))
