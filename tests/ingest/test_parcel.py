"""A parcel counts Kafka's answers: what is confirmed when, and what must be sent again."""

from typing import cast

from confluent_kafka import KafkaError, Message

from strom.ingest.parcel import Parcel, Receipt, Record

BROKEN = KafkaError(KafkaError.NETWORK_EXCEPTION)


class Answer:
    """What Kafka's client tells of a record in its answer: value and key, None where they are empty."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def value(self) -> bytes | None:
        return self._record[0] or None

    def key(self) -> bytes | None:
        return self._record[1] or None


def record(value: bytes, key: bytes = b"m", topic: bytes = b"sma") -> Record:
    return value, key, [("strom-topic", topic)]


def parcel_of(*records: Record, answered: list[Parcel], ids: list[int] | None = None) -> Parcel:
    receipt = Receipt(ids or [], [], len(records))
    parcel = Parcel(1, list(records), receipt, answered.append)
    parcel.open = len(records)
    return parcel


def answer(parcel: Parcel, record: Record, error: KafkaError | None = None) -> None:
    parcel.answer(error, cast("Message", Answer(record)))


def test_a_parcel_is_answered_when_the_last_answer_has_come() -> None:
    answered: list[Parcel] = []
    one, two = record(b"1"), record(b"2")
    parcel = parcel_of(one, two, answered=answered)
    answer(parcel, two)
    assert answered == []
    answer(parcel, one)
    assert answered == [parcel]
    assert parcel.failures == []


def test_what_kafka_does_not_have_is_known_with_its_reason_in_the_order_of_arrival() -> None:
    answered: list[Parcel] = []
    records = [record(b"%d" % number) for number in range(4)]
    parcel = parcel_of(*records, answered=answered)
    for number in (3, 0, 2, 1):
        answer(parcel, records[number], BROKEN if number in (1, 3) else None)
    assert parcel.failures == [(records[1], BROKEN), (records[3], BROKEN)]


def test_of_two_records_alike_none_is_lost_when_one_of_them_failed() -> None:
    here, there = record(b"same", topic=b"sma/here"), record(b"same", topic=b"sma/there")
    parcel = parcel_of(here, there, answered=[])
    answer(parcel, here, BROKEN)
    answer(parcel, there)
    assert [each for each, _ in parcel.failures] == [here, there]


def test_an_empty_payload_can_fail_too() -> None:
    empty = record(b"", key=b"")
    parcel = parcel_of(empty, answered=[])
    answer(parcel, empty, BROKEN)
    assert parcel.failures == [(empty, BROKEN)]


def test_ids_are_confirmed_all_together_when_every_record_is_safe() -> None:
    confirmed: list[int] = []
    receipt = Receipt([7, 8, 9], confirmed, 2)  # the third message was left out on purpose
    receipt.settle(1)
    assert confirmed == []
    receipt.settle(1)
    assert confirmed == [7, 8, 9]


def test_where_nothing_goes_on_the_ids_are_confirmed_at_once() -> None:
    confirmed: list[int] = []
    Receipt([7, 8], confirmed, 0)
    assert confirmed == [7, 8]
