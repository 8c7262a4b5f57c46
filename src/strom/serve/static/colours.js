// The colours of the charts, read from the style sheet, so that each is named once; follows light and dark.

export const COLOURS = {};

function read() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["drawn", "fed", "ink", "muted", "rule", "card", "alert"]) {
    COLOURS[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

/** Read them now and again when the system changes between light and dark. */
export function watchColours(changed) {
  read();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    read();
    changed();
  });
}

/** A #rrggbb colour, partly transparent. */
export function faded(colour, share) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${share})`;
}

/** Stripes for values that are a substitute: told apart without colour. */
export function hatch(context, colour) {
  const ratio = window.devicePixelRatio || 1;
  const size = Math.round(6 * ratio);
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d");
  pen.fillStyle = faded(colour, 0.18);
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6 * ratio;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
    pen.stroke();
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
