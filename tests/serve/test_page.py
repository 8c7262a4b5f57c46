"""The page in a real Chromium: numbers that move, gaps, days, phones, languages, a lost line."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

from strom.settings import Settings
from tests.serve.feeder import Feeder, House, reading
from tests.serve.running import Page, at_port, free_port, serving
from tests.waiting import until

pytestmark = pytest.mark.stack
Unique = Callable[[str], str]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
LIVE_VALUES = "() => Chart.getChart('live-chart').data.datasets[0].data.map(point => point.y)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "Chromium is missing; `make setup` installs it"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def tab(browser: Browser, page: Page) -> Iterator[Tab]:
    """A desktop window in English that fails the test when the page reports an error or asks another host."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    opened.on(
        "request",
        lambda sent: None if sent.url.startswith((page.address, "data:")) else wrong.append(sent.url),
    )
    yield opened
    context.close()
    assert wrong == []


def wait_for(tab: Tab, selector: str, words: str) -> None:
    expect(tab.locator(selector)).to_contain_text(words, timeout=60_000)


def test_a_meters_number_moves_without_reloading(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name = unique("flat")
    feeder.send(reading(name, net_w=512, voltage_l1_v=231.2, current_l1_a=2.25))
    until(lambda: page.get(f"/api/v1/meters/{name}").is_success)
    tab.goto(f"{page.address}/meters/{name}")
    wait_for(tab, "#figure", "512")
    tab.evaluate("window.sameDocument = true")
    feeder.send(reading(name, net_w=-2345, voltage_l1_v=232.0))
    wait_for(tab, "#figure", "2.35")
    wait_for(tab, "#direction", "Feeding into the grid")
    wait_for(tab, ".phase .volts >> nth=0", "232.0 V")
    assert tab.title().startswith("2.35 kW feeding in")
    assert tab.evaluate("window.sameDocument") is True


def test_the_fleets_number_is_there_from_the_first_response(
    browser: Browser, page: Page, feeder: Feeder, unique: Unique
) -> None:
    feeder.send(reading(unique("flat"), net_w=5000))
    until(lambda: page.get("/api/v1/fleet").json()["net_w"] is not None)
    opened = browser.new_context().new_page()
    opened.route("**/api/v1/**", lambda route: route.abort())
    opened.goto(page.address)
    expect(opened.locator("#figure")).to_have_text(re.compile(r"\d"))
    opened.context.close()


def test_a_gap_in_the_data_is_a_gap_in_the_curve(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name, now = unique("gap"), time.time()
    feeder.send(*(reading(name, now - 500 + step, 300) for step in (0, 5, 10, 400, 405)))
    until(lambda: page.get(f"/api/v1/meters/{name}").is_success)
    tab.goto(f"{page.address}/meters/{name}")
    wait_for(tab, "#state-text", "")
    assert tab.evaluate(LIVE_VALUES)[:6] == [300, 300, 300, None, 300, 300]
    feeder.send(reading(name, net_w=350))
    wait_for(tab, "#figure", "350")
    assert tab.evaluate(LIVE_VALUES)[-1] == 350


def test_the_arrows_go_to_other_days_and_the_day_is_in_the_address(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name, today = unique("flat"), datetime.now(UTC).date()
    feeder.send(reading(name, net_w=100))
    until(lambda: page.get(f"/api/v1/meters/{name}").is_success)
    for back in (1, 2, 3):
        feeder.quarter_hours([House(name, "home", back)], today - timedelta(days=back), time.time())
    tab.goto(f"{page.address}/meters/{name}")
    expect(tab.locator("#day-before")).to_have_attribute("href", re.compile("day="), timeout=60_000)
    tab.locator("#day-before").click()
    tab.wait_for_url("**/meters/*?day=*")
    first = tab.url
    wait_for(tab, "#day-import", "kWh")
    shown = tab.locator("#day-name").inner_text()
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_url(lambda url: url != first)
    expect(tab.locator("#day-name")).not_to_have_text(shown)
    tab.go_back()
    wait_for(tab, "#day-name", shown)
    tab.reload()
    wait_for(tab, "#day-name", shown)


def test_substitutes_are_hatched_and_missing_slots_are_empty(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name, day = unique("hatch"), date(2025, 6, 11)
    feeder.quarter_hours([House(name, "solar", 4)], day, time.time())
    feeder.send(reading(name))
    until(lambda: page.get(f"/api/v1/meters/{name}").is_success)
    tab.goto(f"{page.address}/meters/{name}?day={day}")
    wait_for(tab, "#day-import", "kWh")
    bars = "Chart.getChart('day-chart').data.datasets[0].data.map(bar => bar.y)"
    assert tab.evaluate(f"() => {bars}")[44:48] == [None] * 4
    bar = "Chart.getChart('day-chart').getDatasetMeta(0).data[index]"
    fill = f"(index) => {bar}.options.backgroundColor.constructor.name"
    assert tab.evaluate(fill, 43) == "CanvasPattern"
    assert tab.evaluate(fill, 42) == "String"


def test_alerts_are_told_in_words(tab: Tab, page: Page, feeder: Feeder, unique: Unique) -> None:
    name = unique("Wohnung")
    tab.goto(page.address)
    feeder.alert(unique("alert"), name, "silent")
    item = tab.locator("#alerts li", has_text=name)
    expect(item).to_contain_text("sends nothing since", timeout=60_000)
    expect(item.locator("a")).to_have_attribute("href", f"/meters/{name}")


def test_an_alert_that_is_withdrawn_vanishes_from_open_pages(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name, gone, stays = unique("Wohnung"), unique("alert"), unique("alert")
    feeder.send(reading(name))
    until(lambda: page.get(f"/api/v1/meters/{name}").is_success)
    tab.goto(f"{page.address}/meters/{name}")
    feeder.alert(gone, name, "spike", value=9000.0)
    feeder.alert(stays, name, "silent")
    items = tab.locator("#alerts li", has_text=name)
    expect(items).to_have_count(2, timeout=60_000)
    items.filter(has_text="sends nothing").locator("summary").click()
    feeder.withdraw(gone)
    expect(items).to_have_count(1, timeout=60_000)
    expect(tab.locator("#alert-count")).to_have_text("1")
    # What stays is not drawn anew: its details are still open.
    expect(items.locator("pre")).to_be_visible()


def test_of_very_many_alerts_the_oldest_can_be_reached_and_all_vanish_when_withdrawn(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    mark, count = unique("many"), 3000
    before = page.get("/api/v1/fleet").json()["open_alerts"]
    feeder.many_alerts(mark, count)
    try:
        until(lambda: page.get("/api/v1/fleet").json()["open_alerts"] >= before + count)
        total = page.get("/api/v1/alerts", state="open").json()["total"]
        oldest = page.get("/api/v1/alerts", sort="started", limit=1).json()["items"][0]
        assert oldest["id"] == f"{mark}-1"
        tab.goto(page.address)
        expect(tab.locator("#alert-count")).to_have_text(str(total), timeout=60_000)
        expect(tab.locator("#alerts li")).to_have_count(100)
        more = tab.locator("#more-alerts")
        wait_for(tab, "#more-alerts", f"100 of {total}")
        shown = 100
        while shown < total:
            shown = min(total, shown + 100)
            more.click()
            expect(tab.locator("#alerts li")).to_have_count(shown, timeout=60_000)
        expect(more).to_be_hidden()
        expect(tab.locator("#alerts li").last).to_contain_text(f"{mark}-1 sends nothing")
    finally:
        feeder.withdraw(mark)
    expect(tab.locator("#alerts li", has_text=mark)).to_have_count(0, timeout=60_000)


def test_a_fault_in_the_background_is_told(tab: Tab, page: Page) -> None:
    tab.route("**/api/v1/live*", lambda _: None)  # which would tell that all is well
    tab.route(
        f"{page.address}/",
        lambda route: route.fulfill(
            body=route.fetch().text().replace('"state":"running"', '"state":"failed"')
        ),
    )
    tab.goto(page.address)
    wait_for(tab, "#line-text", "has a fault since")
    expect(tab.locator("#line-text")).to_contain_text("has a fault since")


def test_the_search_finds_a_meter_and_stays_in_the_address(
    tab: Tab, page: Page, feeder: Feeder, unique: Unique
) -> None:
    name = unique("Dachgeschoss")
    feeder.send(reading(name, net_w=42), *(reading(unique("flat"), net_w=1) for _ in range(5)))
    tab.goto(page.address)
    tab.locator("#search").fill(name)
    expect(tab.locator(".row")).to_have_count(1, timeout=60_000)
    tab.reload()
    expect(tab.locator("#search")).to_have_value(name)
    expect(tab.locator(".row")).to_have_count(1, timeout=60_000)
    tab.locator(".row").click()
    wait_for(tab, "#name", name)


@pytest.mark.parametrize("path", ["/", "/meters/phone-meter"])
def test_a_phone_shows_it_without_scrolling_sideways(
    browser: Browser, page: Page, feeder: Feeder, path: str, tmp_path: Path
) -> None:
    feeder.send(reading("phone-meter", net_w=1500, voltage_l1_v=230.1, current_l1_a=6.5, import_wh=123456789))
    until(lambda: page.get("/api/v1/meters/phone-meter").is_success)
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        is_mobile=True,
        has_touch=True,
        locale="de-AT",
        color_scheme="dark",
    )
    opened = context.new_page()
    opened.goto(page.address + path)
    expect(opened.locator("#day-name")).not_to_be_empty(timeout=60_000)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.locator("html").get_attribute("lang") == "de"
    if path != "/":
        expect(opened.locator("#figure")).to_contain_text(",")
    opened.screenshot(path=tmp_path / "phone.png")
    context.close()


def test_a_lost_line_is_told_and_heals_by_itself(browser: Browser, stack: Settings, tmp_path: Path) -> None:
    settings = at_port(stack, free_port(), tmp_path / "home")
    context = browser.new_context(locale="en-GB")
    opened = context.new_page()
    with serving(settings) as first:
        opened.goto(first.address)
        expect(opened.locator("#line")).to_have_attribute("data-mark", "live", timeout=60_000)
    expect(opened.locator("#line-text")).to_contain_text("Connection lost since", timeout=60_000)
    with serving(settings):
        expect(opened.locator("#line-text")).to_have_text("Live", timeout=60_000)
    context.close()


def test_without_meters_the_page_says_what_to_do(browser: Browser, stack: Settings, tmp_path: Path) -> None:
    away = at_port(stack, free_port(), tmp_path / "home")
    away = away.model_copy(
        update={
            "kafka": away.kafka.model_copy(update={"bootstrap": f"127.0.0.1:{free_port()}"}),
            "postgres": away.postgres.model_copy(update={"url": f"postgresql://x@127.0.0.1:{free_port()}/x"}),
        }
    )
    context = browser.new_context(locale="en-GB")
    opened = context.new_page()
    with serving(away) as page:
        opened.goto(page.address)
        wait_for(opened, "#welcome", "strom simulate")
        wait_for(opened, "#line-text", "Kafka is away since")
        wait_for(opened, "#day-empty", "Postgres is away")
        assert opened.locator("#welcome").is_visible()
    context.close()


def test_the_description_of_the_api_opens_without_the_internet(tab: Tab, page: Page) -> None:
    tab.goto(f"{page.address}/docs")
    wait_for(tab, "#docs", "/api/v1/fleet")
    assert "/api/v1/meters" in tab.locator("#docs").inner_text()


def test_both_languages_have_the_same_words() -> None:
    text = (Path(__file__).parents[2] / "src/strom/serve/static/strings.js").read_text()
    english, german = (
        re.findall(r'^  "?([\w.-]+)"?: ', part, re.MULTILINE) for part in text.split("const DE")[:2]
    )
    assert english == german
