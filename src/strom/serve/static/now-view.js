// The first screen: one number with its direction in words, one bar, one state line, one curve.

import { clockSeconds, power, powerParts, pushes, when } from "./format.js";
import { LiveChart } from "./live-chart.js";
import { t } from "./strings.js";

const element = (id) => document.getElementById(id);
const MARKS = { well: "✓", attention: "▲", unknown: "○" };

export class NowView {
  constructor() {
    const asked = Number(new URLSearchParams(location.search).get("minutes"));
    this.minutes = asked === 60 ? 60 : 15;
    this.chart = new LiveChart(element("live-chart"), this.minutes);
    this.buttons();
  }

  buttons() {
    const group = element("range");
    group.setAttribute("aria-label", t("range"));
    for (const button of group.children) {
      button.textContent = button.value === "60" ? t("hour") : t("minutes", { n: button.value });
      button.addEventListener("click", () => this.choose(Number(button.value)));
    }
    this.press();
  }

  choose(minutes) {
    this.minutes = minutes;
    const query = new URLSearchParams(location.search);
    if (minutes === 15) query.delete("minutes");
    else query.set("minutes", minutes);
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
    this.press();
    this.chart.range(minutes, this.chart.chart.options.scales.x.max);
  }

  press() {
    for (const button of element("range").children) {
      button.setAttribute("aria-pressed", String(Number(button.value) === this.minutes));
    }
  }

  /** `now`: net_w, import_w, export_w, direction; `silent` says why there is no number. */
  number(now, silent = false) {
    const [figure, unit] = powerParts(now.net_w);
    const side = now.direction ?? (silent ? "silentNow" : "unknown");
    element("figure").textContent = figure;
    element("unit").textContent = unit;
    element("direction").textContent = t(side);
    element("arrow").textContent = { drawing: "↓", "feeding-in": "↑", balanced: "=" }[side] ?? "○";
    document.body.dataset.direction = now.direction ?? "unknown";
    document.title = this.title(now, figure, unit);
    this.label = power(now.net_w);
    element("live-chart").setAttribute("aria-label", t("liveChartLabel", { power: this.label }));
  }

  title(now, figure, unit) {
    const name = this.name ? `${this.name} · Strom` : "Strom";
    if (now.net_w === null) return name;
    const key = now.net_w < 0 ? "titleFeeding" : "titleDrawing";
    return `${t(key, { power: `${figure} ${unit}` })} · ${name}`;
  }

  bar(fleet) {
    const [drawn, fed] = [fleet.import_w ?? 0, fleet.export_w ?? 0];
    for (const [id, watts] of [["bar-drawn", drawn], ["bar-fed", fed]]) {
      element(id).style.flexGrow = watts;
      element(id).hidden = watts === 0;
    }
    element("drawn").textContent = power(fleet.import_w);
    element("fed").textContent = power(fleet.export_w);
    element("drawn-by").textContent = t(fleet.drawing === 1 ? "drawnByOne" : "drawnBy", { count: fleet.drawing });
    element("fed-by").textContent = t(fleet.feeding === 1 ? "fedByOne" : "fedBy", { count: fleet.feeding });
  }

  fleetState(fleet) {
    const well = fleet.live === fleet.meters && !fleet.open_alerts;
    if (!fleet.meters) this.state(t("noneYet"), "unknown");
    else if (well) this.state(t("allWell", fleet), "well");
    else this.state(this.withAlerts(t("someSilent", fleet), fleet.open_alerts), "attention");
  }

  meterState(meter, live, interval, alerts) {
    if (!live) {
      this.state(this.withAlerts(t("meterSilent", { time: when(meter.received ?? meter.at) }), alerts), "attention");
      return;
    }
    const lately = interval ? t("sends", { interval: pushes(interval), time: clockSeconds(meter.at) }) : t("sentFirst");
    if (alerts) this.state(this.withAlerts(lately, alerts), "attention");
    else this.state(t("oneWell", { lately }), "well");
  }

  withAlerts(state, count) {
    return count ? t(count === 1 ? "withAlert" : "withAlerts", { state, count }) : state;
  }

  state(sentence, mark) {
    element("state-text").textContent = sentence;
    element("state-mark").textContent = MARKS[mark];
    element("state").dataset.mark = mark;
  }
}
