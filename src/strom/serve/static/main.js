// Begins the page: draws what came with it, then follows the live events of the fleet or of one meter.

import { AlertsView } from "./alerts-view.js";
import { Away, ask, listen, meterPath } from "./api.js";
import { watchColours } from "./colours.js";
import { DayView } from "./day-view.js";
import { setZone, when } from "./format.js";
import { MeterList } from "./meter-list.js";
import { NowView } from "./now-view.js";
import { PhasesView } from "./phases-view.js";
import { t, translate } from "./strings.js";

const element = (id) => document.getElementById(id);
const first = JSON.parse(element("first").textContent);
const name = location.pathname.startsWith("/meters/") ? decodeURIComponent(location.pathname.slice(8)) : null;
const path = name === null ? "/fleet" : meterPath(name);

setZone(first.timezone);
translate();

// The server's clock is the one that counts: a phone's may be minutes off.
let ahead = first.now - Date.now();
const now = () => Date.now() + ahead;

watchColours(() => {
  view.chart.chart.update("none");
  day.redraw();
});
const view = new NowView();
const day = new DayView(path, name === null);
const alerts = new AlertsView(first.alerts, first.fleet.open_alerts, name);
const parts = name === null ? { list: new MeterList() } : { phases: new PhasesView(first.limits) };
let meter = first.meter ?? null;
let fleet = first.fleet;

if (name !== null) openMeter();
element("welcome").hidden = name !== null || fleet.meters > 0;
view.chart.set(first.points, now());
show();
showLine(first.health);
day.load();

function openMeter() {
  view.name = name;
  element("name").textContent = name;
  for (const id of ["heading", "crumbs", "raw-card"]) element(id).hidden = false;
  for (const id of ["balance", "meters-card"]) element(id).hidden = true;
  document.body.classList.add("one-meter");
}

function show() {
  element("live-empty").hidden = !view.chart.empty;
  if (name === null) {
    view.number(fleet);
    view.bar(fleet);
    view.fleetState(fleet);
    element("live-empty").textContent = t("noneYet");
  } else if (meter === null) {
    view.number({ net_w: null, direction: null });
    view.state(t("meterUnknown"), "unknown");
    element("live-empty").textContent = "";
  } else {
    showMeter();
  }
}

function showMeter() {
  const { silent_seconds: least, silent_pushes: count } = first.limits;
  const live = now() - Date.parse(meter.received) < Math.max(least, count * (meter.interval_s ?? 0)) * 1000;
  view.number(live ? meter : { net_w: null, direction: null }, !live);
  view.meterState(meter, live, meter.interval_s, alerts.open.size);
  element("live-empty").textContent = live ? t("unknown") : t("meterSilent", { time: when(meter.received) });
  const number = meter.reading.meter_number;
  element("number-line").textContent = [number, meter.area, meter.tariff].filter(Boolean).join(" · ");
  parts.phases.show(meter.reading, meter.interval_s, live ? null : meter.received);
  element("raw-text").textContent = JSON.stringify(meter.reading, null, 2);
}

function showLine(health, lostSince = null) {
  const [mark, text] = lineWords(health, lostSince);
  element("line").dataset.mark = mark;
  if (element("line-text").textContent !== text) element("line-text").textContent = text;
}

function lineWords(health, lostSince) {
  if (lostSince !== null) return ["lost", t("lost", { time: when(lostSince) })];
  if (health.kafka.state === "lost") return ["lost", t("kafkaLost", { time: when(health.kafka.since) })];
  if (health.kafka.state === "starting") return ["waiting", t("kafkaStarting")];
  if (health.postgres.state === "lost") return ["waiting", t("postgresLost", { time: when(health.postgres.since) })];
  const failed = health.tasks.find((task) => task.state === "failed");
  if (failed) return ["waiting", t("taskFailed", { time: when(failed.since) })];
  return ["live", t("live")];
}

/** After a break: ask for what was missed. */
async function refresh() {
  try {
    const [curve, open] = await Promise.all([ask(`${path}/curve`), ask("/alerts", { meter: name, sort: "severe" })]);
    view.chart.set(curve.points, now());
    alerts.reset(open.items, open.total);
    if (name !== null) meter = await ask(path);
    show();
    day.load();
  } catch (error) {
    if (!(error instanceof Away)) throw error; // live events go on; the line says what is away
  }
}

function takeReading(event) {
  meter = {
    ...meter, ...event, received: new Date(event.received_ms).toISOString(), at: new Date(event.at_ms).toISOString(),
  };
  view.chart.add(event.points, now());
  show();
  window.dispatchEvent(new CustomEvent("strom-reading", { detail: event }));
}

listen(name, {
  open(again) {
    if (again) refresh();
  },
  lost(since) {
    showLine(first.health, since);
  },
  health(state) {
    first.health = state;
    showLine(state);
  },
  fleet(event) {
    ahead = Date.parse(event.at) - Date.now();
    fleet = event;
    alerts.count(fleet.open_alerts);
    if (name === null) view.chart.add(event.points, now());
    else view.chart.show(now());
    element("welcome").hidden = name !== null || fleet.meters > 0;
    showLine(first.health);
    show();
  },
  reading: takeReading,
  alert(alert) {
    alerts.change(alert);
    show();
  },
  alerts() {
    alerts.reload();
  },
});
