// Open alerts in words for people; the codes are one click deeper.

import { Away, ask, meterPath } from "./api.js";
import { plain, when } from "./format.js";
import { has, t } from "./strings.js";

const element = (id) => document.getElementById(id);

/** The sentence in the reader's language where the kind is known, else the one that came with the alert. */
export function sentence(alert) {
  let key = `alert.${alert.kind}`;
  if (alert.kind === "voltage") key += alert.value > alert.threshold ? ".high" : ".low";
  if (!has(key)) return alert.text;
  const shown = (value) => (value === null ? "?" : plain(value));
  return t(key, { meter: alert.meter, part: alert.part.toUpperCase(), time: when(alert.started), value: shown(alert.value), threshold: shown(alert.threshold) });
}

// Severe ones first, then the newest: the server's order `severe`.
const before = (a, b) => b.severe - a.severe || b.started.localeCompare(a.started) || a.id.localeCompare(b.id);
const PAGE = 100;
const MOST_AT_ONCE = 1000;
const RELOAD_MS = 500;

export class AlertsView {
  /** `alerts`: the first page of those that are open, of `total`; only those of `meter` when one is given. */
  constructor(alerts, total, meter = null) {
    this.meter = meter;
    this.items = new Map(); // list items by id, kept while their alert stays as it is
    this.limit = PAGE;
    this.more = element("more-alerts");
    this.more.addEventListener("click", () => this.loadMore());
    this.reset(alerts, total);
  }

  reset(alerts, total) {
    this.open = new Map(alerts.filter((alert) => this.concerns(alert)).map((alert) => [alert.id, alert]));
    this.total = this.meter === null ? Math.max(total, this.open.size) : this.open.size;
    this.show();
  }

  /** One that opened, changed, ended or was withdrawn. */
  change(alert) {
    if (!this.concerns(alert)) return;
    const whole = this.open.size >= this.total;
    const known = this.open.delete(alert.id);
    if (alert.ended === null) {
      // Beyond the last one that is shown there may be others in between: those come with their page.
      const last = whole ? null : this.sorted().at(-1);
      if (whole || known || !last || before(alert, last) < 0) this.open.set(alert.id, alert);
      if (whole && !known) this.total += 1;
    } else if (known) {
      this.total -= 1;
      if (this.open.size < Math.min(this.limit, this.total)) this.reload();
    }
    this.soon();
  }

  /** How many there are: the server tells every second. */
  count(total) {
    if (this.meter !== null || total === this.total) return;
    this.total = Math.max(total, this.open.size);
    if (this.open.size < Math.min(this.limit, this.total)) this.reload();
    this.soon();
  }

  /** Ask for what is shown anew, soon and once. */
  reload() {
    this.reloading ??= setTimeout(async () => {
      this.reloading = null;
      try {
        const page = await ask("/alerts", { meter: this.meter, sort: "severe", limit: Math.min(this.limit, MOST_AT_ONCE) });
        this.reset(page.items, page.total);
      } catch (error) {
        if (!(error instanceof Away)) throw error; // the line above the page says that Postgres is away
      }
    }, RELOAD_MS);
  }

  async loadMore() {
    this.more.disabled = true;
    try {
      const page = await ask("/alerts", { sort: "severe", offset: this.open.size, limit: PAGE });
      for (const alert of page.items) this.open.set(alert.id, alert);
      this.limit = Math.max(this.limit, this.open.size);
      this.total = Math.max(page.total, this.open.size);
      this.show();
    } catch (error) {
      if (!(error instanceof Away)) throw error;
      this.more.textContent = t("alertsAway");
    } finally {
      this.more.disabled = false;
    }
  }

  concerns(alert) {
    return this.meter === null || alert.meter === this.meter;
  }

  sorted() {
    return [...this.open.values()].sort(before);
  }

  /** Draw once for all the changes that come together. */
  soon() {
    this.waiting ??= setTimeout(() => this.show(), 0);
  }

  show() {
    clearTimeout(this.waiting);
    this.waiting = null;
    const shown = this.sorted();
    const items = new Map();
    for (const alert of shown) {
      const drawn = this.items.get(alert.id);
      items.set(alert.id, drawn?.alert === alert ? drawn : { alert, item: this.item(alert) });
    }
    this.items = items;
    element("alert-count").textContent = this.total || "";
    const list = element("alerts");
    const wanted = [...items.values()].map(({ item }) => item);
    if (!wanted.length) wanted.push(Object.assign(document.createElement("li"), { className: "none", textContent: `✓ ${t("noAlerts")}` }));
    // What stays is not touched: its details stay open, and the focus where it is.
    const staying = new Set(wanted);
    for (const item of [...list.children]) if (!staying.has(item)) item.remove();
    wanted.forEach((item, place) => list.children[place] === item || list.insertBefore(item, list.children[place] ?? null));
    this.more.hidden = this.open.size >= this.total;
    this.more.textContent = t("moreAlerts", { shown: this.open.size, total: this.total });
  }

  item(alert) {
    const item = document.createElement("li");
    item.classList.toggle("severe", alert.severe);
    const words = Object.assign(document.createElement(this.meter === null ? "a" : "span"), { className: "words", textContent: sentence(alert) });
    if (this.meter === null) words.href = meterPath(alert.meter);
    const details = document.createElement("details");
    const facts = { kind: alert.kind, part: alert.part, id: alert.id, started: alert.started, value: alert.value, threshold: alert.threshold, severe: alert.severe, text: alert.text };
    details.append(
      Object.assign(document.createElement("summary"), { textContent: t("since", { time: when(alert.started) }) }),
      Object.assign(document.createElement("pre"), { textContent: JSON.stringify(facts, null, 1) }),
    );
    item.append(words, details);
    return item;
  }
}
