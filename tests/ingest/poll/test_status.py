"""What an adapter tells about itself, as metrics: whatever it says, the page of all adapters stays whole and small."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from strom.ingest.poll.counters import Asked
from strom.ingest.poll.rest import STATUS
from strom.ingest.poll.status import MAX_LABEL, StatusMetrics
from strom.metrics import Metrics
from tests.ingest.poll.boxes import Request, certificate_of, http, https_box, play, until
from tests.ingest.poll.going import going

OTHER = "other"
ODD = st.sampled_from('\ud800\udfff\0\r\n\x1b\x85\u2028"\\')
TEXT = st.text() | st.lists(ODD, max_size=3).map("".join) | st.just("1" * 2 * MAX_LABEL)
SCALAR = TEXT | st.none() | st.booleans() | st.integers() | st.floats()
ANY = SCALAR | st.lists(SCALAR, max_size=2) | st.dictionaries(TEXT, SCALAR, max_size=2)
METER = st.fixed_dictionaries({"supplier": ANY, "manufacturer": ANY, "interface": ANY})
STATUSES = st.fixed_dictionaries(
    {
        "fw_version": ANY,
        "sma_status": ANY,
        "meter": METER | ANY,
        "wifi": st.fixed_dictionaries({"rssi": ANY}) | ANY,
        "meter_valid_package_cnt": ANY,
        "meter_invalid_package_cnt": ANY,
    }
)


def told(metrics: Metrics) -> list[Sample]:
    """The page as Prometheus reads it."""
    page = metrics.text().decode()
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]


def infos(metrics: Metrics) -> list[dict[str, str]]:
    return [sample.labels for sample in told(metrics) if sample.name == "strom_poll_info"]


def status_of(metrics: Metrics, *statuses: dict[str, Any]) -> None:
    """One adapter has told these, beside another one."""
    metrics.watch("poll", Asked(polls=7), adapter=OTHER)
    status = StatusMetrics("keller", metrics)
    for each in statuses:
        status.take(each)


@given(st.lists(STATUSES, min_size=1, max_size=3))
def test_whatever_an_adapter_tells_the_page_can_be_read_and_has_one_series_of_it(
    statuses: list[dict[str, Any]],
) -> None:
    metrics = Metrics()
    status_of(metrics, *json.loads(json.dumps(statuses)))
    samples = told(metrics)
    assert [sample.value for sample in samples if sample.name == "strom_poll_polls_total"] == [7]
    assert len([sample for sample in samples if sample.name == "strom_poll_info"]) == 1
    assert max(len(value) for value in infos(metrics)[0].values()) <= MAX_LABEL


@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("\ud800", "\ufffd"),
        ("1.3\r\nstrom_poll_up 0", "1.3\ufffd\ufffdstrom_poll_up 0"),
        ("\0\x1b[31m\x85\u2028", "\ufffd\ufffd[31m\ufffd\ufffd"),
        ('1.3"} 5', '1.3"} 5'),
        ("Zähler 1\\n", "Zähler 1\\n"),
        pytest.param("1" * 1_000_000, "1" * MAX_LABEL, id="long"),
        (1.3, "1.3"),
        (["1.3"], ""),
    ],
)
def test_a_text_of_the_adapter_is_a_label_of_one_line(version: object, label: str) -> None:
    metrics = Metrics()
    status_of(metrics, {"fw_version": version})
    assert [info["firmware"] for info in infos(metrics)] == [label]


def test_an_adapter_that_tells_half_of_a_pair_costs_nobody_the_page(tmp_path: Path) -> None:
    certificate = certificate_of(tmp_path)

    def respond(request: Request) -> bytes:
        return http(rb'{"fw_version":"\ud800"}' if request.path in STATUS else b"{}")

    async def scene() -> list[dict[str, str]]:
        async with https_box(respond, certificate.context()) as server:
            adapter = server.settings(fingerprint=certificate.fingerprint)
            async with going(adapter, status_seconds=0.01) as seen:
                await until(lambda: any(name.startswith("strom_poll_info") for name in seen.told))
                return infos(seen.metrics)

    [info] = play(scene())
    assert info["firmware"] == "\ufffd"
