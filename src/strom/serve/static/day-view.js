// The card with a day's quarter-hours: arrows to other days, the day in the address, sums, a table.

import { Away, ask } from "./api.js";
import { DayChart, qualityWords, slotTime } from "./day-chart.js";
import { addDays, dayName, energy, kilowattHours } from "./format.js";
import { t } from "./strings.js";

const REFRESH_MS = 15_000;
const element = (id) => document.getElementById(id);

export class DayView {
  /** `path` is what the API calls the fleet or the meter. */
  constructor(path, ofFleet) {
    this.path = path;
    this.chart = new DayChart(element("day-chart"), ofFleet);
    this.wanted = new URLSearchParams(location.search).get("day");
    for (const [id, key] of [["day-before", "dayBefore"], ["day-after", "dayAfter"]]) {
      element(id).setAttribute("aria-label", t(key));
      element(id).title = t(key);
    }
    for (const id of ["day-before", "day-after", "day-today"]) {
      element(id).addEventListener("click", (event) => this.step(event));
    }
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("popstate", () => this.go(new URLSearchParams(location.search).get("day")));
    element("day-table").addEventListener("toggle", () => this.table());
    setInterval(() => document.hidden || this.load(), REFRESH_MS);
  }

  redraw() {
    if (this.day) this.chart.show(this.day);
  }

  async load() {
    const asked = this.wanted;
    try {
      const day = await ask(`${this.path}/quarter-hours`, { day: asked });
      if (asked === this.wanted) this.show(day);
    } catch (error) {
      if (!(error instanceof Away)) throw error;
      this.say(error.status === 422 ? error.message : t("tablesAway"), !this.day);
    }
  }

  show(day) {
    this.day = day;
    this.chart.show(day);
    element("day-import").textContent = energy(day.import_wh);
    element("day-export").textContent = energy(day.export_wh);
    element("day-name").textContent = dayName(day.day, day.today);
    element("day-chart").setAttribute("aria-label", t("dayChartLabel", {
      day: dayName(day.day, day.today), import: energy(day.import_wh), export: energy(day.export_wh),
    }));
    this.links(day);
    const nothing = day.slots.every((slot) => slot.quality === null);
    this.say(t(day.day === day.today ? "firstQuarter" : "noDay"), nothing);
    this.table();
  }

  links(day) {
    const before = day.first_day !== null && day.day > day.first_day;
    const after = day.day < day.today;
    this.link("day-before", addDays(day.day, -1), before);
    this.link("day-after", addDays(day.day, 1), after);
    this.link("day-today", null, after);
  }

  link(id, day, possible) {
    const link = element(id);
    link.toggleAttribute("aria-disabled", !possible);
    const address = this.address(day === this.day.today ? null : day);
    if (possible) link.href = address;
    else link.removeAttribute("href");
  }

  address(day) {
    const query = new URLSearchParams(location.search);
    if (day) query.set("day", day);
    else query.delete("day");
    const search = query.toString();
    return `${location.pathname}${search ? `?${search}` : ""}`;
  }

  step(event) {
    const href = event.currentTarget.getAttribute("href");
    event.preventDefault();
    if (href === null) return;
    history.pushState(null, "", href);
    this.go(new URLSearchParams(location.search).get("day"));
  }

  key(event) {
    const typing = event.target.closest?.("input, select, textarea, [role=list]");
    if (typing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") element("day-before").click();
    if (event.key === "ArrowRight") element("day-after").click();
  }

  go(day) {
    this.wanted = day;
    this.load();
  }

  say(sentence, shown) {
    element("day-empty").hidden = !shown;
    element("day-empty").textContent = sentence;
  }

  table() {
    const details = element("day-table");
    if (!details.open || !this.day) return;
    const row = (cells, tag) => {
      const line = document.createElement("tr");
      for (const text of cells) line.append(Object.assign(document.createElement(tag), { textContent: text }));
      return line;
    };
    const shown = (value) => (value === null ? "–" : kilowattHours(value));
    details.querySelector("thead").replaceChildren(row([t("time"), t("drawn"), t("fedIn"), t("quality")], "th"));
    details.querySelector("tbody").replaceChildren(
      ...this.day.slots.filter((slot) => !slot.future)
        .map((slot) => row([slotTime(slot), shown(slot.import_wh), shown(slot.export_wh), qualityWords(slot)], "td")),
    );
  }
}
