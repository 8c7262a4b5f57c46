"""Who a caller is and which topics are theirs; how one proves it is not its concern."""

from strom.ingest.gateway.answers import Problem
from strom.settings import PasswordHash, UserSettings
from strom.streams.offsets import INTERNAL

PRODUCE, CONSUME = "produce", "consume"
_FULL = "full"
_REMEMBERED = 1000  # topics; names that are made up must not fill the memory


class User:
    def __init__(self, name: str, settings: UserSettings) -> None:
        self.name = name
        self.rights = settings.rights
        self.password = _hash(settings)
        self._names = frozenset(each for each in settings.topics if not each.endswith("*"))
        self._beginnings = tuple(each[:-1] for each in settings.topics if each.endswith("*"))
        self._seen: set[str] = set()  # allowed, and asked for before

    def may(self, right: str) -> bool:
        return self.rights in (_FULL, right)

    def sees(self, topic: str) -> bool:
        """Whether the topic is among the user's; Kafka's own only where a pattern begins as they do."""
        if topic in self._names:
            return True
        if topic.startswith(INTERNAL):
            return any(topic.startswith(each) for each in self._beginnings if each.startswith(INTERNAL))
        return topic.startswith(self._beginnings)

    def require(self, topic: str, place: str = "") -> None:
        """Refuse with 403; the same whether the topic exists or not."""
        if topic in self._seen:
            return
        if not self.sees(topic):
            raise Problem(
                403, f"{place}{self.name} may not use the topic {topic}; `strom users add` gives that right."
            )
        if len(self._seen) < _REMEMBERED:
            self._seen.add(topic)


def _hash(settings: UserSettings) -> PasswordHash:
    found = PasswordHash.parse(settings.password)
    if found is None:  # the settings have been checked
        raise ValueError("no hash")
    return found
