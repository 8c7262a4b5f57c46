"""The API against real Kafka and Postgres, as a program that uses it would ask."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.serve.feeder import Feeder, House, reading
from tests.serve.running import Page
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]


def test_a_reading_in_the_topic_is_the_meters_number(page: Page, feeder: Feeder, unique: Unique) -> None:
    name = unique("flat")
    feeder.send(reading(name, net_w=-1234, meter_number="1KFM77", voltage_l1_v=231.5))
    meter = until(lambda: found.json() if (found := page.get(f"/api/v1/meters/{name}")).is_success else None)
    assert (meter["net_w"], meter["direction"], meter["live"]) == (-1234, "feeding-in", True)
    assert meter["reading"]["voltage_l1_v"] == 231.5
    assert meter["published"] is not None


def test_the_fleet_counts_every_meter(page: Page, feeder: Feeder, unique: Unique) -> None:
    name = unique("flat")
    before = page.get("/api/v1/fleet").json()["meters"]
    feeder.send(reading(name, net_w=100))
    until(lambda: page.get("/api/v1/fleet").json()["meters"] > before)
    fleet = page.get("/api/v1/fleet").json()
    assert fleet["net_w"] == pytest.approx(fleet["import_w"] - fleet["export_w"])


def test_names_with_a_slash_and_other_letters_are_found(page: Page, feeder: Feeder, unique: Unique) -> None:
    name = unique("Stiege 2/Tür 7 ☀")
    feeder.send(reading(name, net_w=10))
    path = f"/api/v1/meters/{name.replace('/', '%2F')}"
    meter = until(lambda: found.json() if (found := page.get(path)).is_success else None)
    assert meter["meter"] == name
    assert page.get(f"{path}/curve").json()["points"]


def test_the_list_is_searched_sorted_and_paged(page: Page, feeder: Feeder, unique: Unique) -> None:
    mark = unique("Haus")
    feeder.send(*(reading(f"{mark} {number}", net_w=number) for number in (2, 10, 1)))
    until(lambda: page.get("/api/v1/meters", q=mark).json()["total"] == 3)

    def names(**query: str | int) -> list[str]:
        items = page.get("/api/v1/meters", q=mark.upper(), **query).json()["items"]
        return [item["meter"].removeprefix(mark).strip() for item in items]

    assert names() == ["1", "2", "10"]
    assert names(sort="-power") == ["10", "2", "1"]
    assert names(offset=1, limit=1) == ["2"]


def test_a_silence_is_a_null_in_the_curve(page: Page, feeder: Feeder, unique: Unique) -> None:
    name, now = unique("gap"), time.time()
    times = [now - 900 + step for step in (0, 5, 10, 600, 605)]
    feeder.send(*(reading(name, at, 300) for at in times))
    curve = f"/api/v1/meters/{name}/curve"
    until(lambda: page.get(curve).is_success and len(page.get(curve).json()["points"]) >= 6)
    watts = [point[1] for point in page.get(curve).json()["points"]]
    assert watts == [300, 300, 300, None, 300, 300, None]


def test_the_quarter_hours_of_the_fleet_are_sums_with_the_worst_quality(page: Page, feeder: Feeder) -> None:
    day, midnight = date(2035, 5, 2), datetime(2035, 5, 1, 22, tzinfo=UTC)
    fleet = [House("qh-1", "home", 1), House("qh-2", "solar", 2)]
    feeder.quarter_hours(fleet, day, midnight.timestamp() + 13 * 3600)
    found = page.get("/api/v1/fleet/quarter-hours", day=day.isoformat()).json()
    one = page.get("/api/v1/meters/qh-1/quarter-hours", day=day.isoformat()).json()
    other = page.get("/api/v1/meters/qh-2/quarter-hours", day=day.isoformat()).json()
    assert len(found["slots"]) == 96
    assert found["import_wh"] == pytest.approx(one["import_wh"] + other["import_wh"])
    assert found["slots"][0]["meters"] == 2
    assert [slot["quality"] for slot in found["slots"][42:50]] == [
        "measured",
        "substitute",
        None,
        None,
        None,
        None,
        "substitute",
        "measured",
    ]
    assert found["slots"][60]["import_wh"] is None


def test_sums_are_those_of_the_quarter_hours(page: Page, feeder: Feeder) -> None:
    day, midnight = date(2035, 6, 2), datetime(2035, 6, 1, 22, tzinfo=UTC)
    feeder.quarter_hours(
        [House("sum-1", "home", 1), House("sum-2", "solar", 2)], day, midnight.timestamp() + 7200
    )
    span = {"first": day.isoformat(), "last": day.isoformat()}
    (fleet,) = page.get("/api/v1/fleet/sums", unit="day", **span).json()["items"]
    slots = page.get("/api/v1/fleet/quarter-hours", day=day.isoformat()).json()
    assert (fleet["import_wh"], fleet["of_slots"]) == (pytest.approx(slots["import_wh"]), 192)
    hours = page.get("/api/v1/meters/sum-1/sums", unit="hour", **span).json()
    assert hours["timezone"] == "Europe/Vienna"
    assert [(hour["start"], hour["of_slots"]) for hour in hours["items"]] == [
        ("2035-06-01T22:00:00Z", 4),
        ("2035-06-01T23:00:00Z", 4),
    ]
    assert page.get("/api/v1/meters/nobody/sums").json()["items"] == []


def test_a_tariff_is_asked_like_the_total(page: Page, feeder: Feeder, unique: Unique) -> None:
    name, day = unique("tariffs"), date(2035, 7, 2)
    midnight = datetime(2035, 7, 1, 22, tzinfo=UTC)
    feeder.tariff(name, 1, midnight + timedelta(hours=6), 100, 50.5)
    feeder.tariff(name, 2, midnight, 7)
    meter = f"/api/v1/meters/{name}"

    def asked(number: int) -> tuple[float | None, list[float | None]]:
        found = page.get(f"{meter}/quarter-hours", day=day.isoformat(), tariff=number).json()
        assert len(found["slots"]) == 96
        return found["import_wh"], [slot["import_wh"] for slot in found["slots"] if slot["quality"]]

    assert [asked(number) for number in (1, 2, 3)] == [(150.5, [100, 50.5]), (7, [7]), (None, [])]
    span = {"first": day.isoformat(), "last": day.isoformat()}
    (total,) = page.get(f"{meter}/sums", unit="day", tariff=1, **span).json()["items"]
    assert (total["import_wh"], total["slots"], total["of_slots"]) == (150.5, 2, 96)
    assert page.get(f"{meter}/sums", unit="day", **span).json()["items"] == []
    refused = page.get(f"{meter}/quarter-hours", tariff=5)
    assert refused.status_code == 422
    assert "tariff" in refused.json()["error"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"unit": "decade"}, "unit"),
        ({"first": "2026-05-02", "last": "2026-05-01"}, "exchange them"),
        ({"first": "1026-05-02"}, "too far away"),
        ({"unit": "hour", "first": "2025-05-02", "last": "2026-05-01"}, "too long by the hour"),
        ({"last": "soon"}, "last"),
    ],
)
def test_sums_that_cannot_be_are_refused_in_a_sentence(page: Page, query: dict[str, str], words: str) -> None:
    answer = page.get("/api/v1/fleet/sums", **query)
    assert answer.status_code == 422
    assert words in answer.json()["error"]


@pytest.mark.parametrize(("day", "count"), [("2026-03-29", 92), ("2026-10-25", 100)])
def test_the_odd_days_of_the_year_are_whole(page: Page, day: str, count: int) -> None:
    assert len(page.get("/api/v1/fleet/quarter-hours", day=day).json()["slots"]) == count


def test_alerts_are_filtered_and_leave_the_open_ones_when_they_end(
    page: Page, feeder: Feeder, unique: Unique
) -> None:
    name, one, two = unique("flat"), unique("alert"), unique("alert")
    feeder.alert(one, name, "silent")
    feeder.alert(two, name, "voltage", value=255.0, threshold=253.0, severe=True)
    assert page.get("/api/v1/alerts", meter=name).json()["total"] == 2
    assert [
        each["id"] for each in page.get("/api/v1/alerts", meter=name, kind="voltage").json()["items"]
    ] == [two]
    feeder.alert(one, name, "silent", ended=datetime.now(UTC) + timedelta(seconds=1))
    assert page.get("/api/v1/alerts", meter=name).json()["total"] == 1
    assert page.get("/api/v1/alerts", meter=name, state="all").json()["total"] == 2


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/v1/meters/nobody-of-that-name", 404, "no meter named"),
        ("/api/v1/fleet/quarter-hours?day=tomorrow", 422, "day is 'tomorrow'"),
        ("/api/v1/fleet/quarter-hours?day=9999-12-31", 422, "between 2000 and 2100"),
        ("/api/v1/meters?limit=0", 422, "limit"),
        ("/api/v1/meters?sort=colour", 422, "sort"),
        ("/api/v1/alerts?meter=%00", 422, "NUL"),
        ("/api/v1/nothing", 404, "/docs"),
        ("/static/x/../run.py", 404, "nothing at"),
        ("/library/chart.js/0.0.0/dist/chart.umd.min.js", 404, "no file"),
    ],
)
def test_an_error_is_one_sentence(page: Page, path: str, status: int, words: str) -> None:
    answer = page.get(path)
    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert words in answer.json()["error"]


def test_every_answer_is_of_the_shape_that_the_description_promises(page: Page) -> None:
    described = page.get("/api/v1/openapi.json").json()
    paths = set(described["paths"])
    assert {"/api/v1/fleet", "/api/v1/meters", "/api/v1/alerts", "/api/v1/live", "/api/v1/health"} <= paths
    for path, methods in described["paths"].items():
        assert methods["get"]["summary"], path


def test_files_are_kept_for_good_and_asked_for_once(page: Page) -> None:
    html = page.get("/").text
    address = next(part.split('"')[0] for part in html.split('src="') if part.startswith("/library/chart.js"))
    first = page.get(address)
    assert "immutable" in first.headers["cache-control"]
    again = page.client.get(page.address + address, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_the_page_may_ask_nobody_else(page: Page) -> None:
    policy = page.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_name_cannot_break_out_of_the_page(page: Page, feeder: Feeder, unique: Unique) -> None:
    name = unique("</script><script>alert(1)</script>")
    feeder.send(reading(name, net_w=10))
    path = "/meters/" + name.replace("/", "%2F")
    html = until(lambda: found.text if (found := page.get(path)).is_success else None)
    assert "<script>alert" not in html
