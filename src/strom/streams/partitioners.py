"""Which partition a record goes to: by its key, as Kafka's clients choose it, or all meters of an area to one.

One meter stays on one partition either way, and so in order, as long as the topic does not grow. It sends nothing.
"""

import random
import threading
import time
from collections.abc import Sequence

from strom.errors import StromError
from strom.settings import MeterAreas, Settings, check_areas
from strom.streams.admin import admin_client
from strom.streams.client import AwayError
from strom.streams.murmur2 import key_hash
from strom.streams.offsets import HasMetadata, all_topics, find_topics

ANY = -1  # the client chooses: by the key, and at random without one
REFRESH_SECONDS = 60.0
AWAY_SECONDS = 1.0  # so long after Kafka did not answer nobody waits for that again
_KEYS_REMEMBERED = 1 << 16  # some 10 MB


class _KeyHashes(dict[bytes, int]):
    """Computed once for each key: to look it up is a hundredth of the work."""

    def __missing__(self, key: bytes) -> int:
        if len(self) >= _KEYS_REMEMBERED:
            self.clear()
        self[key] = found = key_hash(key)
        return found


class Partitioner:
    """As `kafka.partitioner` says, the same for whoever sends; with "key" it asks nobody anything.

    The counts of partitions are asked for once and then refreshed beside the senders, which never wait for that. A
    producer that is given with `use` is the one that is asked, and so knows a new partition before anything goes there.

    To ask takes long where Kafka is away. A sender on an event loop looks whether this `knows` the topic, and if not
    lets a thread `count` it before it sends.
    """

    def __init__(
        self,
        settings: Settings,
        client: HasMetadata | None = None,
        *,
        refresh_seconds: float = REFRESH_SECONDS,
        away_seconds: float = AWAY_SECONDS,
    ) -> None:
        check_areas(settings)
        self._settings = settings
        self._areas = MeterAreas(settings) if settings.kafka.partitioner == "area" else None
        self._hashes = {name: key_hash(name.encode()) for name in settings.areas}
        self._key_hashes = _KeyHashes()
        self._client = client
        self._refresh_seconds = refresh_seconds
        self._away_seconds = away_seconds
        self._counts: dict[str, int] = {}
        self._refresh_at = 0.0
        self._asking = threading.Lock()
        self._first_asking = threading.Lock()
        self._away: AwayError | None = None  # why Kafka did not answer when it was last asked
        self._away_until = 0.0

    def use(self, client: HasMetadata) -> None:
        """Ask this client from now on; for senders that open a producer anew."""
        self._client = client

    def partition(self, topic: str, key: bytes | None) -> int:
        """Where this record goes, or ANY."""
        area = self._area(key) if self._areas is not None else None
        return ANY if area is None else self._hashes[area] % self.count(topic)

    def fixed(self, topic: str, key: bytes | None) -> int:
        """As `partition`, but never ANY: for records that must lie side by side."""
        chosen = self.partition(topic, key)
        if chosen != ANY:
            return chosen
        count = self.count(topic)
        return random.randrange(count) if key is None else key_hash(key) % count  # noqa: S311  no secret

    def fixed_all(self, topic: str, keys: Sequence[bytes]) -> list[int]:
        """As `fixed` for each of many keys, most of which have come before."""
        if self._areas is None:
            count = self.count(topic)
            return [number % count for number in map(self._key_hashes.__getitem__, keys)]
        places = {key: self.fixed(topic, key) for key in set(keys)}
        return [places[key] for key in keys]

    def knows(self, topic: str) -> bool:
        """Whether `count` can tell without asking anybody."""
        return topic in self._counts

    def count(self, topic: str) -> int:
        """How many partitions it has; StromError where there is no such topic, or no broker to ask."""
        known = self._counts.get(topic)
        if known is None:
            return self.learn(topic)
        if time.monotonic() >= self._refresh_at and self._asking.acquire(blocking=False):
            threading.Thread(target=self._refresh, name="partition-counts", daemon=True).start()
        return known

    def learn(self, topic: str, least: int = 1) -> int:
        """As `count`, asked anew where fewer than `least` are known; it may take as long as Kafka does to answer.

        Of many who ask at once, one asks Kafka, and its answer is everybody's.
        """
        with self._first_asking:
            known = self._counts.get(topic, 0)
            if known >= least:
                return known
            if self._away is not None and time.monotonic() < self._away_until:
                raise AwayError(str(self._away))
            self._client = self._client or admin_client(self._settings)
            try:
                count = find_topics(self._settings, self._client, [topic])[topic]
            except AwayError as error:
                self._away, self._away_until = error, time.monotonic() + self._away_seconds
                raise
            self._counts[topic] = count
            self._refresh_at = time.monotonic() + self._refresh_seconds
            return count

    def _area(self, key: bytes | None) -> str | None:
        if key is None or self._areas is None:
            return None
        try:
            return self._areas.of(key.decode())
        except UnicodeDecodeError:
            return None

    def _refresh(self) -> None:
        try:
            if self._client is not None:
                there = all_topics(self._settings, self._client)
                self._counts = {name: there[name] for name in [*self._counts] if name in there}
        except StromError:
            pass  # what was known holds until the broker is back
        finally:
            self._refresh_at = time.monotonic() + self._refresh_seconds
            self._asking.release()
