"""How many may be connected to one box at once, over all its interfaces together; it knows none of them."""

from dataclasses import dataclass

MOST = 3


@dataclass
class Connections:
    """Takes part in one thread only; whoever takes a place gives it back."""

    most: int = MOST
    open: int = 0
    refused: int = 0

    def take(self) -> bool:
        """Whether there was a place left."""
        if self.open >= self.most:
            self.refused += 1
            return False
        self.open += 1
        return True

    def give_back(self) -> None:
        self.open -= 1
