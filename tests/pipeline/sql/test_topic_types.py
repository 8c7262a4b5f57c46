"""Topics of the contract have the columns of their JSON Schema."""

from strom.domain.reading import FIELDS
from strom.pipeline.sql.topic_types import EVENT_TIMES, ddl, fields_of, is_typed
from strom.streams import topics


def test_a_reading_has_its_fields_with_their_types() -> None:
    fields = fields_of(topics.READINGS)
    assert list(fields) == list(FIELDS)
    assert fields["at"] == "timestamp"
    assert fields["meter"] == "string"
    assert fields["import_w"] == "decimal(18,3)"
    assert fields["flags"] == "array<string>"
    assert fields["other"] == "map<string,string>"


def test_nested_and_constant_values_have_types_too() -> None:
    assert fields_of(topics.METERS)["reading"].startswith("struct<`v`:int,`meter`:string,`at`:timestamp,")
    assert fields_of(topics.ALERTS)["withdrawn"] == "boolean"
    assert fields_of(topics.LOAD_PROFILE)["samples"] == "bigint"
    assert ddl({"start": "timestamp", "v": "int"}) == "`start` timestamp, `v` int"


def test_the_time_of_each_topic_is_one_of_its_times() -> None:
    for topic, column in EVENT_TIMES.items():
        assert fields_of(topic)[column] == "timestamp"
    assert not is_typed(topics.RAW)
