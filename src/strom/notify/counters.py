"""What a sender of alerts has done since it started, for log lines and tests."""

from dataclasses import asdict, dataclass


@dataclass
class Counted:
    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in asdict(self).items())


@dataclass
class Taken(Counted):
    """Of the topic."""

    read: int = 0
    passed_over: int = 0  # not an alert
    restarts: int = 0  # after a fault of ours


@dataclass
class Sent(Counted):
    """By one outlet."""

    delivered: int = 0
    refused: int = 0
    tried_again: int = 0
    restarts: int = 0  # after a fault of ours
