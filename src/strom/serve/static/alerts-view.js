// Open alerts in words for people; the codes are one click deeper.

import { meterPath } from "./api.js";
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

export class AlertsView {
  /** Only those of `meter` when one is given. */
  constructor(alerts, meter = null) {
    this.meter = meter;
    this.open = new Map();
    this.reset(alerts);
  }

  reset(alerts) {
    this.open = new Map(alerts.filter((alert) => this.concerns(alert)).map((alert) => [alert.id, alert]));
    this.show();
  }

  change(alert) {
    if (!this.concerns(alert)) return;
    if (alert.ended === null) this.open.set(alert.id, alert);
    else this.open.delete(alert.id);
    this.show();
  }

  concerns(alert) {
    return this.meter === null || alert.meter === this.meter;
  }

  show() {
    const sorted = [...this.open.values()].sort((a, b) => b.severe - a.severe || b.started.localeCompare(a.started));
    element("alert-count").textContent = sorted.length || "";
    const list = element("alerts");
    if (sorted.length) list.replaceChildren(...sorted.map((alert) => this.item(alert)));
    else list.replaceChildren(Object.assign(document.createElement("li"), { className: "none", textContent: `✓ ${t("noAlerts")}` }));
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
