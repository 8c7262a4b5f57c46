// The list of meters: searched and sorted by the server, of which only the rows on the screen exist here.

import { Away, ask, meterPath } from "./api.js";
import { power, when } from "./format.js";
import { t } from "./strings.js";

const REFRESH_MS = 2_000;
const SPARE_ROWS = 10;
const element = (id) => document.getElementById(id);
const ARROWS = { drawing: "↓", "feeding-in": "↑", balanced: "=" };

export class MeterList {
  constructor() {
    const query = new URLSearchParams(location.search);
    this.q = query.get("q") ?? "";
    this.sort = query.get("sort") ?? "name";
    this.total = 0;
    this.rows = new Map(); // by place in the list
    this.asked = 0;
    this.box = element("rows");
    this.controls();
    for (const event of ["scroll", "resize"]) window.addEventListener(event, () => this.soon(), { passive: true });
    setInterval(() => document.hidden || this.load(), REFRESH_MS);
    this.load();
  }

  controls() {
    const [search, sort] = [element("search"), element("sort")];
    search.placeholder = t("search");
    search.setAttribute("aria-label", t("searchLabel"));
    search.title = t("searchLabel");
    sort.setAttribute("aria-label", t("sort"));
    ["byName", "mostDrawing", "mostFeeding", "longestSilent"].forEach((key, index) => { sort.options[index].textContent = t(key); });
    search.value = this.q;
    sort.value = this.sort;
    if (!sort.value) sort.value = this.sort = "name";
    search.addEventListener("input", () => this.change({ q: search.value.trim() }));
    sort.addEventListener("change", () => this.change({ sort: sort.value }));
  }

  change(values) {
    Object.assign(this, values);
    const query = new URLSearchParams(location.search);
    for (const [name, value, usual] of [["q", this.q, ""], ["sort", this.sort, "name"]]) {
      if (value === usual) query.delete(name);
      else query.set(name, value);
    }
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
    this.load();
  }

  get rowHeight() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue("--row"));
  }

  /** First place and number of the rows that can be seen, with some to spare. */
  window() {
    const top = this.box.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / this.rowHeight) - SPARE_ROWS);
    const count = Math.ceil(window.innerHeight / this.rowHeight) + 2 * SPARE_ROWS;
    return { first, count };
  }

  soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      const { first, count } = this.window();
      const last = Math.min(this.total, first + count) - 1;
      if (!this.rows.has(first) || !this.rows.has(last)) this.load();
    });
  }

  async load() {
    const { first, count } = this.window();
    const turn = ++this.asked;
    try {
      const page = await ask("/meters", { q: this.q, sort: this.sort, offset: first, limit: count });
      if (turn === this.asked) this.show(page);
    } catch (error) {
      if (!(error instanceof Away)) throw error; // the line above the page says that the server is away
    }
  }

  show(page) {
    this.total = page.total;
    this.box.style.height = `${page.total * this.rowHeight}px`;
    element("meter-count").textContent = page.total || "";
    element("no-meters").hidden = page.total > 0;
    element("no-meters").textContent = this.q ? t("noMatch", { q: this.q }) : t("noneYet");
    const largest = Math.max(1, ...page.items.map((meter) => Math.abs(meter.net_w ?? 0)));
    const shown = new Map();
    page.items.forEach((meter, index) => {
      const place = page.offset + index;
      const row = this.rows.get(place) ?? this.make(place);
      this.fill(row, meter, largest);
      shown.set(place, row);
    });
    for (const [place, row] of this.rows) if (!shown.has(place)) row.remove();
    this.rows = shown;
  }

  make(place) {
    const row = document.createElement("a");
    row.className = "row";
    row.setAttribute("role", "listitem");
    row.style.transform = `translateY(${place * this.rowHeight}px)`;
    for (const name of ["name", "note", "bar", "power"]) row.append(Object.assign(document.createElement("span"), { className: name }));
    row.querySelector(".bar").append(document.createElement("span"));
    // Keep the order of the list for the keyboard.
    const next = [...this.rows.entries()].filter(([other]) => other > place).sort(([a], [b]) => a - b)[0];
    this.box.insertBefore(row, next ? next[1] : null);
    return row;
  }

  fill(row, meter, largest) {
    const set = (name, text) => {
      const cell = row.querySelector(name);
      if (cell.textContent !== text) cell.textContent = text;
    };
    row.href = meterPath(meter.meter);
    row.dataset.direction = meter.direction ?? "unknown";
    row.classList.toggle("silent", !meter.live);
    row.classList.toggle("alarmed", meter.open_alerts > 0);
    set(".name", meter.meter);
    set(".note", this.note(meter));
    set(".power", meter.net_w === null ? "–" : `${ARROWS[meter.direction]} ${power(Math.abs(meter.net_w))}`);
    row.querySelector(".bar span").style.width = `${(Math.abs(meter.net_w ?? 0) / largest) * 100}%`;
  }

  note(meter) {
    if (!meter.live) return t("silentSince", { time: when(meter.received) });
    if (meter.open_alerts) return `▲ ${t("openAlerts")}: ${meter.open_alerts}`;
    if (meter.net_w === null) return t("noPower");
    return [meter.meter_number, meter.area].filter(Boolean).join(" · ");
  }
}
