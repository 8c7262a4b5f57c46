// The live curve: drawn above zero, fed in below, a gap where nothing came. No smoothing.

import { draw, options, powerAxis } from "./chart-base.js";
import { COLOURS, faded } from "./colours.js";
import { clock, clockSeconds, power } from "./format.js";
import { t } from "./strings.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** One colour above zero and one below, split exactly at the zero line. */
function bySign(share) {
  return ({ chart }) => {
    const { ctx, chartArea, scales } = chart;
    if (!chartArea) return COLOURS.drawn;
    const height = chartArea.bottom - chartArea.top;
    const zero = Math.min(1, Math.max(0, (scales.y.getPixelForValue(0) - chartArea.top) / height));
    const gradient = ctx.createLinearGradient(0, chartArea.top, 0, chartArea.bottom);
    gradient.addColorStop(zero, faded(COLOURS.drawn, share));
    gradient.addColorStop(zero, faded(COLOURS.fed, share));
    return gradient;
  };
}

function timeAxis(chart) {
  return {
    type: "linear",
    border: { color: () => COLOURS.rule },
    grid: { display: false },
    ticks: { color: () => COLOURS.muted, maxRotation: 0, autoSkip: false, callback: (value) => clock(value) },
    afterBuildTicks: (axis) => {
      const step = (chart.minutes > 15 ? 15 : 5) * MINUTE;
      axis.ticks = [];
      // Whole quarters of an hour are the same in every zone that people live in.
      for (let time = Math.ceil(axis.min / step) * step; time <= axis.max; time += step) axis.ticks.push({ value: time });
    },
  };
}

export class LiveChart {
  constructor(canvas, minutes) {
    this.canvas = canvas;
    this.minutes = minutes;
    this.points = [];
    const label = {
      title: ([item]) => clockSeconds(item.parsed.x),
      label: (item) => `${power(Math.abs(item.parsed.y))} ${t(item.parsed.y < 0 ? "fedIn" : "drawn").toLowerCase()}`,
    };
    this.chart = draw(
      canvas,
      "line",
      {
        datasets: [{
          data: this.points,
          borderColor: bySign(1),
          backgroundColor: bySign(0.16),
          borderWidth: 2,
          borderJoinStyle: "round",
          fill: "origin",
          pointRadius: 0,
          pointHitRadius: 8,
          spanGaps: false,
          tension: 0,
        }],
      },
      options(timeAxis(this), { ...powerAxis("W"), suggestedMax: 100 }, { callbacks: label }),
    );
  }

  /** Begin anew with [[epoch ms, watts or null], …]. */
  set(points, now) {
    this.points.length = 0;
    for (const [x, y] of points) this.points.push({ x, y });
    this.show(now);
  }

  /** Points in order of time; those of a time that is there already replace it. */
  add(points, now) {
    if (!points.length) return;
    let keep = this.points.length;
    while (keep && this.points[keep - 1].x >= points[0][0]) keep -= 1;
    this.points.length = keep;
    for (const [x, y] of points) this.points.push({ x, y });
    this.show(now);
  }

  range(minutes, now) {
    this.minutes = minutes;
    this.show(now);
  }

  show(now) {
    while (this.points.length && this.points[0].x < now - HOUR - MINUTE) this.points.shift();
    const from = now - this.minutes * MINUTE;
    // The first point may lie left of the edge, so that the line enters from there.
    let first = this.points.findIndex((point) => point.x >= from);
    first = first < 0 ? Math.max(0, this.points.length - 1) : Math.max(0, first - 1);
    this.chart.data.datasets[0].data = this.points.slice(first);
    Object.assign(this.chart.options.scales.x, { min: from, max: now });
    this.chart.update("none");
  }

  get empty() {
    return !this.chart.data.datasets[0].data.some((point) => point.y !== null);
  }
}
