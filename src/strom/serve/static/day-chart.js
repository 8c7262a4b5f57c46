// The quarter-hours of a day: drawn above zero, fed in below; substitutes hatched, what is in progress lighter.

import { draw, options, powerAxis } from "./chart-base.js";
import { COLOURS, faded, hatch } from "./colours.js";
import { clock, energy } from "./format.js";
import { t } from "./strings.js";

const QUARTER = 15 * 60_000;

/** A light band where the quarter-hour of this moment lies. */
const nowBand = {
  id: "nowBand",
  beforeDatasetsDraw(chart) {
    const index = chart.slots?.findIndex((slot) => slot.in_progress) ?? -1;
    if (index < 0) return;
    const { ctx, chartArea, scales } = chart;
    const width = Math.max(4, chartArea.width / chart.slots.length);
    ctx.save();
    ctx.fillStyle = faded(COLOURS.muted, 0.22);
    ctx.fillRect(scales.x.getPixelForValue(index) - width / 2, chartArea.top, width, chartArea.bottom - chartArea.top);
    ctx.restore();
  },
};

export const slotTime = (slot) => `${clock(slot.start)}–${clock(Date.parse(slot.start) + QUARTER)}`;

export function qualityWords(slot) {
  if (slot.in_progress) return t("inProgress");
  return slot.quality === null ? t("gap") : t(slot.quality);
}

export class DayChart {
  constructor(canvas, ofFleet) {
    this.ofFleet = ofFleet;
    this.hatches = {};
    const bars = (name) => ({
      data: [],
      backgroundColor: (context) => this.fill(context, name),
      hoverBackgroundColor: (context) => this.fill(context, name),
      barPercentage: 0.86,
      categoryPercentage: 1,
      minBarLength: 0,
      borderRadius: 1.5,
    });
    const tooltip = {
      callbacks: {
        title: ([item]) => slotTime(this.chart.slots[item.dataIndex]),
        label: (item) => this.label(item),
        footer: ([item]) => this.footer(this.chart.slots[item.dataIndex]),
      },
      footerColor: () => COLOURS.card,
      footerFont: { weight: "normal" },
      filter: (item) => item.raw.y !== null,
    };
    this.chart = draw(canvas, "bar", { labels: [], datasets: [bars("drawn"), bars("fed")] }, options(this.axis(), powerAxis("Wh"), tooltip));
    this.chart.options.plugins.nowBand = {};
    this.chart.config.plugins.push(nowBand);
    this.chart.slots = [];
  }

  show(day) {
    this.hatches = {};
    this.chart.slots = day.slots;
    this.chart.data.labels = day.slots.map((slot) => slot.start);
    const values = [(slot) => slot.import_wh, (slot) => (slot.export_wh === null ? null : -slot.export_wh)];
    values.forEach((value, index) => {
      this.chart.data.datasets[index].data = day.slots.map((slot, x) => ({ x, y: value(slot) }));
    });
    this.chart.update("none");
  }

  fill({ dataIndex, chart }, name) {
    const slot = chart.slots?.[dataIndex];
    const colour = COLOURS[name];
    if (slot?.in_progress) return faded(colour, 0.4);
    if (slot?.quality !== "substitute") return colour;
    this.hatches[name] ??= hatch(chart.ctx, colour);
    return this.hatches[name];
  }

  axis() {
    return {
      type: "category",
      stacked: true,
      border: { display: false },
      grid: { display: false },
      ticks: {
        color: () => COLOURS.muted,
        maxRotation: 0,
        autoSkip: false,
        // Every third hour by the wall clock, also on the days when it jumps.
        callback: (index) => {
          const text = clock(this.chart.slots[index]?.start ?? 0);
          const every = this.chart.width < 520 ? 6 : 3;
          return text.endsWith(":00") && Number(text.slice(0, 2)) % every === 0 ? text : null;
        },
      },
    };
  }

  label(item) {
    const drawn = item.datasetIndex === 0;
    return `${t(drawn ? "drawn" : "fedIn")} ${energy(Math.abs(item.raw.y))}`;
  }

  footer(slot) {
    return this.ofFleet && slot.meters ? [qualityWords(slot), t("inSum", { count: slot.meters })] : qualityWords(slot);
  }
}
