// What both charts share: fonts, axes with units, the line under the pointer.

import { COLOURS, faded } from "./colours.js";
import { axisLabel } from "./format.js";

/** A line at the pointer's place, over the whole height. */
const cursor = {
  id: "cursor",
  afterDatasetsDraw(chart) {
    const active = chart.tooltip?.getActiveElements() ?? [];
    if (!active.length) return;
    const { ctx, chartArea } = chart;
    const x = active[0].element.x;
    ctx.save();
    ctx.strokeStyle = faded(COLOURS.muted, 0.7);
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(x, chartArea.top);
    ctx.lineTo(x, chartArea.bottom);
    ctx.stroke();
    ctx.restore();
  },
};

export function powerAxis(base) {
  return {
    beginAtZero: true,
    grace: "8%",
    border: { display: false },
    grid: { color: (context) => (context.tick?.value === 0 ? COLOURS.muted : COLOURS.rule), drawTicks: false },
    ticks: {
      maxTicksLimit: 6,
      padding: 8,
      color: () => COLOURS.muted,
      callback: (value, _index, ticks) => {
        const largest = Math.max(...ticks.map((tick) => Math.abs(tick.value)));
        const step = ticks.length > 1 ? Math.abs(ticks[1].value - ticks[0].value) : largest || 1;
        return axisLabel(value, largest, base, step);
      },
    },
    // The same room for any label, so that the curve does not jump sideways.
    afterFit: (scale) => { scale.width = Math.max(scale.width, scale.chart.width < 520 ? 60 : 68); },
  };
}

export function options(xAxis, yAxis, tooltip) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    parsing: false,
    normalized: true,
    layout: { padding: { top: 6, right: 4 } },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12 },
    interaction: { mode: "index", axis: "x", intersect: false },
    scales: { x: xAxis, y: yAxis },
    plugins: {
      legend: { display: false },
      tooltip: {
        backgroundColor: () => COLOURS.ink,
        titleColor: () => COLOURS.card,
        bodyColor: () => COLOURS.card,
        displayColors: false,
        padding: 10,
        cornerRadius: 8,
        caretSize: 0,
        ...tooltip,
      },
    },
  };
}

export function draw(canvas, type, data, given) {
  window.Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  return new window.Chart(canvas, { type, data, options: given, plugins: [cursor] });
}
