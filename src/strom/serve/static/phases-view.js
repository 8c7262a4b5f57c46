// One meter's phases and counters: voltage on its scale with the allowed band, current beside it.

import { kilowattHours, measure, plain, pushes, when } from "./format.js";
import { t } from "./strings.js";

const element = (id) => document.getElementById(id);
const BESIDE = 17; // volts that the scale shows on either side of the allowed band

const make = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

export class PhasesView {
  /** `limits`: the voltages between which all is well. */
  constructor(limits) {
    this.low = limits.voltage_low_v;
    this.high = limits.voltage_high_v;
    this.note = make("span", "");
    element("phases-title").append(t("phases"), this.note);
    this.rows = [1, 2, 3].map((phase) => this.row(phase));
    element("phase-rows").replaceChildren(...this.rows.map(({ box }) => box));
    element("phases").hidden = false;
  }

  /** Where a voltage lies on the scale. */
  place(volts) {
    const [from, to] = [this.low - BESIDE, this.high + BESIDE];
    return `${Math.min(100, Math.max(0, ((volts - from) / (to - from)) * 100))}%`;
  }

  row(phase) {
    const box = make("div", "phase");
    const [volts, amperes, scale, band, dot] = [make("span", "volts"), make("span", "amperes"), make("span", "scale"), make("span", "band"), make("span", "pin")];
    band.style.left = this.place(this.low);
    band.style.right = `calc(100% - ${this.place(this.high)})`;
    scale.append(band, dot);
    scale.setAttribute("aria-hidden", "true");
    box.append(make("span", "label", `L${phase}`), volts, scale, amperes);
    return { box, volts, amperes, dot, phase };
  }

  /** `silentSince` is given when these values are not of now. */
  show(reading, interval, silentSince) {
    const allowed = t("allowed", { low: plain(this.low, 0), high: plain(this.high, 0) });
    this.note.textContent = silentSince ? t("lastValues", { time: when(silentSince) }) : allowed;
    element("phases").classList.toggle("stale", Boolean(silentSince));
    for (const { box, volts, amperes, dot, phase } of this.rows) {
      const [v, a] = [reading[`voltage_l${phase}_v`], reading[`current_l${phase}_a`]];
      box.hidden = v === undefined && a === undefined;
      volts.textContent = v === undefined ? "–" : measure(v, "V", 1);
      amperes.textContent = a === undefined ? "–" : measure(a, "A", 2);
      dot.hidden = v === undefined;
      if (v !== undefined) dot.style.left = this.place(v);
      box.classList.toggle("outside", v !== undefined && (v < this.low || v > this.high));
    }
    this.counters(reading, interval);
  }

  counters(reading, interval) {
    const facts = [
      ["importTotal", reading.import_wh, kilowattHours],
      ["exportTotal", reading.export_wh, kilowattHours],
      ["frequency", reading.frequency_hz, (value) => measure(value, "Hz", 2)],
      ["powerFactor", reading.power_factor, (value) => measure(value, "", 2).trim()],
      ["interval", interval ?? undefined, pushes],
    ].filter(([, value]) => value !== undefined);
    const none = this.rows.every(({ box }) => box.hidden);
    const boxes = facts.map(([key, value, format]) => {
      const box = make("div", "");
      box.append(make("dt", "", t(key)), make("dd", "", format(value)));
      return box;
    });
    element("counters").replaceChildren(...(none ? [make("p", "empty", t("noPhases"))] : []), ...boxes);
  }
}
