"""How often a meter sends, as most of its steps say; a majority vote that needs two numbers of memory."""

from dataclasses import dataclass

LONGEST_SECONDS = 7_200  # a longer step is an outage, not an interval
MOST_VOTES = 1_000  # a meter that was set to another interval is believed after as many steps


@dataclass(frozen=True, slots=True)
class PushInterval:
    seconds: int | None = None
    votes: int = 0

    def observe(self, step_ms: float, steps: int) -> "PushInterval":
        """Take `steps` steps of this mean length into account."""
        seconds = max(1, round(step_ms / 1000))
        if step_ms <= 0 or seconds > LONGEST_SECONDS:
            return self
        if seconds == self.seconds:
            return PushInterval(seconds, min(MOST_VOTES, self.votes + steps))
        if self.seconds is not None and steps <= self.votes:
            return PushInterval(self.seconds, self.votes - steps)
        return PushInterval(seconds, min(MOST_VOTES, steps - self.votes))
