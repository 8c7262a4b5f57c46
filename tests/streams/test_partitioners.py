"""Where a record goes: by its key as Kafka's own clients say, or all meters of an area to one partition."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewPartitions
from hypothesis import given
from hypothesis import strategies as st

from strom.errors import StromError
from strom.settings import AreaSettings, KafkaSettings, Settings, load_settings
from strom.streams import partitioners
from strom.streams.admin import admin_client
from strom.streams.client import AwayError
from strom.streams.murmur2 import key_hash, murmur2
from strom.streams.partitioners import ANY, Partitioner
from strom.streams.producer import Producer, open_producer
from tests.streams.writing import SECONDS, lying_in, strom, topic_of
from tests.waiting import until

Unique = Callable[[str], str]
AREAS = {
    "nord": AreaSettings(meters=["haus-1*", "keller"]),
    "süd": AreaSettings(meters=["haus-*", "?of"]),
}


def by_area(settings: Settings) -> Settings:
    kafka = settings.kafka.model_copy(update={"partitioner": "area"})
    return settings.model_copy(update={"kafka": kafka, "areas": AREAS})


class Counting:
    """Stands for a client where none may be asked."""

    def __init__(self) -> None:
        self.asked = 0

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> object:
        self.asked += 1
        raise AssertionError("nobody is to be asked")


class Away:
    """Stands for a client whose Kafka is away: a real one takes a quarter of a minute to find that out."""

    def __init__(self, answer: threading.Event | None = None) -> None:
        self.asked = 0
        self._answer = answer

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> object:
        self.asked += 1
        if self._answer is not None:
            assert self._answer.wait(SECONDS)
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))


# The first six are those of Kafka's own UtilsTest; all were computed by its Utils.murmur2 (kafka-clients 4.3.1).
@pytest.mark.parametrize(
    ("key", "java"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
        (b"", 275646681),
        (b"\x00", 375494588),
        (b"\xff\xfe\xfd", 998637092),
        (b"haus-1", 136057939),
        ("Zähler 1".encode(), -1721248258),
    ],
)
def test_murmur2_is_what_kafkas_java_client_computes(key: bytes, java: int) -> None:
    assert murmur2(key) == java & 0xFFFFFFFF


@given(st.binary(max_size=40), st.integers(1, 300))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= key_hash(key) % partitions < partitions


def test_by_key_nobody_is_asked_anything() -> None:
    client = Counting()
    partitioner = Partitioner(Settings(), client)
    assert partitioner.partition("t", b"haus-1") == ANY
    assert client.asked == 0


def test_one_who_asks_while_kafka_is_away_spares_the_next_ones_the_wait() -> None:
    client = Away()
    partitioner = Partitioner(by_area(Settings()), client, away_seconds=3600.0)
    for topic in ["sma-kafka"] * 100 + ["another"]:
        with pytest.raises(StromError, match="does not answer"):
            partitioner.partition(topic, b"haus-1")
    assert client.asked == 1
    assert not partitioner.knows("sma-kafka")


def test_many_who_ask_at_once_while_kafka_is_away_ask_once() -> None:
    answer = threading.Event()
    client = Away(answer)
    partitioner = Partitioner(by_area(Settings()), client, away_seconds=3600.0)
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(partitioner.count, "sma-kafka") for _ in range(8)]
        until(lambda: client.asked, "the first one asks")
        answer.set()
        failures = [each.exception(SECONDS) for each in asking]
    assert {type(each) for each in failures} == {AwayError}
    assert client.asked == 1


@pytest.mark.stack
def test_kafka_is_asked_again_a_moment_later(stack: Settings, topic: str) -> None:
    partitioner = Partitioner(by_area(stack), Away(), away_seconds=0.05)
    with pytest.raises(StromError, match="does not answer"):
        partitioner.count(topic)
    partitioner.use(admin_client(stack))

    def counted() -> int | None:
        try:
            return partitioner.count(topic)
        except StromError:
            return None

    assert until(counted, "it is asked again") == 7
    assert partitioner.knows(topic)


def test_areas_without_any_area_are_refused(tmp_path: Path) -> None:
    words = 'kafka.partitioner is "area", but there is none: write'
    with pytest.raises(StromError, match=words):
        load_settings({"kafka.partitioner": "area"}, environment={}, folder=tmp_path)
    with pytest.raises(StromError, match=words):
        Partitioner(Settings(kafka=KafkaSettings(partitioner="area")))


def test_areas_are_read_from_the_file_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "strom.toml").write_text('[kafka]\npartitioner = "area"\n[areas.nord]\nmeters = ["haus-*"]\n')
    settings = load_settings(environment={}, folder=tmp_path)
    assert settings.areas == {"nord": AreaSettings(meters=["haus-*"])}
    again = load_settings(environment=settings.as_environment(), folder=tmp_path / "elsewhere")
    assert (again.areas, again.kafka.partitioner) == (settings.areas, "area")


@pytest.fixture
def topic(stack: Settings, unique: Unique) -> str:
    return topic_of(stack, unique("area"), partitions=7)


@pytest.mark.stack
def test_the_client_library_and_strom_put_a_key_on_the_same_partition(stack: Settings, topic: str) -> None:
    keys = [
        b"",
        b"\x00",
        b"\xff\xfe\xfd",
        "Zähler 1".encode(),
        *(b"haus-%d" % number for number in range(200)),
    ]
    producer = open_producer(stack, "strom-test")
    for key in keys:
        producer.produce(topic, b"v", key)
    assert producer.flush(SECONDS) == 0
    lying = {record.key or b"": record.partition for record in lying_in(stack, topic)}
    assert lying == {key: key_hash(key) % 7 for key in keys}


@pytest.mark.stack
@pytest.mark.parametrize("by", ["key", "area"])
def test_many_keys_at_once_get_the_partitions_that_each_gets_alone(
    stack: Settings, topic: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioners, "_KEYS_REMEMBERED", 5)
    partitioner = Partitioner(by_area(stack) if by == "area" else stack)
    keys = [b"haus-%d" % (number % 12) for number in range(50)] + [b"", b"\xff", b"haus-1"]
    for _ in range(2):
        assert partitioner.fixed_all(topic, keys) == [partitioner.fixed(topic, key) for key in keys]
    assert partitioner.knows(topic)


@pytest.mark.stack
def test_all_meters_of_an_area_lie_on_one_partition(stack: Settings, topic: str) -> None:
    meters = ["haus-10", "haus-11", "keller", "haus-2", "haus-3", "hof"]
    strangers = [f"fremd-{number}" for number in range(30)]
    with Producer(by_area(stack)) as producer:
        for meter in [*meters, *strangers]:
            producer.send(topic, b"v", key=meter)
        producer.send(topic, b"v", key=b"\xff not text")
    found = {(record.key or b""): record.partition for record in lying_in(stack, topic)}
    north, south = key_hash(b"nord") % 7, key_hash("süd".encode()) % 7
    assert [found[meter.encode()] for meter in meters] == [north] * 3 + [south] * 3
    assert all(found[meter.encode()] == key_hash(meter.encode()) % 7 for meter in strangers)


@pytest.mark.stack
def test_the_command_line_sends_by_area_as_well(stack: Settings, topic: str) -> None:
    settings = by_area(stack).model_copy(update={"kafka": stack.kafka})
    lines = "haus-10:a\nkeller:b\nhaus-12:c\n"
    done = strom(settings, "produce", topic, "--key-separator", ":", "--partitioner", "area", given=lines)
    assert done.stdout == f"3 messages written to {topic}: 3 to partition {key_hash(b'nord') % 7}.\n"


@pytest.mark.stack
def test_a_topic_that_grows_is_noticed_and_nothing_is_lost_meanwhile(stack: Settings, unique: Unique) -> None:
    topic = topic_of(stack, unique("grows"), partitions=1)
    producer = open_producer(stack, "strom-test")
    partitioner = Partitioner(by_area(stack), producer, refresh_seconds=0.05)
    assert partitioner.partition(topic, b"haus-1") == 0
    admin = admin_client(stack)
    admin.create_partitions([NewPartitions(topic, 64)])[topic].result()
    wanted = key_hash(b"nord") % 64
    failures: list[object] = []

    def lands_there() -> bool:
        place = partitioner.partition(topic, b"haus-1")
        producer.produce(topic, b"v", b"haus-1", place, on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(SECONDS) == 0
        return place == wanted

    until(lands_there, "the new partitions are used")
    assert failures
    assert set(failures) == {None}
    assert len(lying_in(stack, topic)) == len(failures)


@pytest.mark.stack
def test_many_threads_share_a_partitioner(stack: Settings, topic: str) -> None:
    partitioner = Partitioner(by_area(stack), refresh_seconds=0.0)
    found: set[int] = set()

    def ask() -> None:
        found.update(partitioner.partition(topic, b"haus-%d" % (number % 10 + 10)) for number in range(2000))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {key_hash(b"nord") % 7}


@pytest.mark.stack
def test_an_unknown_topic_has_no_partition(stack: Settings) -> None:
    with pytest.raises(StromError, match=r"There is no topic sma-kafak at .*; did you mean sma-kafka\?"):
        Partitioner(by_area(stack)).partition("sma-kafak", b"haus-1")
