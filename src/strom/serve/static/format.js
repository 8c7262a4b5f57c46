// Numbers, units and times as people read them: the unit follows the size, days are local to the meters.

import { LOCALE } from "./strings.js";

let zone = "UTC";
export const setZone = (name) => { zone = name; };

const NOTHING = "–";
const formats = new Map();

function number(value, digits) {
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat(LOCALE, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(value).replace("-", "−");
}

/** [text, unit] of a size in a base unit; the digits keep three places of meaning. */
function scaled(value, base) {
  const size = Math.abs(value);
  if (size < 999.5) return [number(value, base === "W" || size >= 100 || size === 0 ? 0 : 1), base];
  const [shown, unit] = size < 999_500 ? [value / 1e3, `k${base}`] : [value / 1e6, `M${base}`];
  const digits = Math.abs(shown) < 9.995 ? 2 : Math.abs(shown) < 99.95 ? 1 : 0;
  return [number(shown, digits), unit];
}

const joined = ([text, unit]) => `${text} ${unit}`;

export const powerParts = (watts) => (watts === null ? [NOTHING, ""] : scaled(Math.abs(watts), "W"));
export const power = (watts) => (watts === null ? NOTHING : joined(scaled(watts, "W")));
export const energy = (wattHours) => (wattHours === null ? NOTHING : joined(scaled(wattHours, "Wh")));
export const kilowattHours = (wattHours) => `${number(wattHours / 1000, 3)} kWh`;
export const measure = (value, unit, digits) => `${number(value, digits)} ${unit}`;
/** A push interval: whole seconds unless it is a very short one. */
export const pushes = (seconds) => measure(seconds, "s", seconds < 2 ? 1 : 0).replace(/[.,]0 /, " ");
export const plain = (value, digits = 1) => number(value, digits);

/** Labels for an axis that share one unit and just enough digits for its step. */
export function axisLabel(value, largest, base, step) {
  const [factor, unit] = largest >= 999_500 ? [1e6, `M${base}`] : largest >= 1000 ? [1e3, `k${base}`] : [1, base];
  const digits = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / factor) - 1e-9)));
  return `${number(value / factor, digits)} ${unit}`;
}

function dateFormat(options) {
  const key = JSON.stringify([zone, options]);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(LOCALE, { timeZone: zone, ...options }));
  return formats.get(key);
}

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

export const clock = (moment) => dateFormat(CLOCK).format(new Date(moment));
export const clockSeconds = (moment) => dateFormat({ ...CLOCK, second: "2-digit" }).format(new Date(moment));

/** The time alone when it is today, else with the day. */
export function when(moment, now = Date.now()) {
  const day = { day: "numeric", month: "short" };
  const same = dateFormat(day).format(new Date(moment)) === dateFormat(day).format(new Date(now));
  return same ? clock(moment) : dateFormat({ ...day, ...CLOCK }).format(new Date(moment));
}

/** "Sunday, 15 November" of an ISO day; the year only where it is another one. */
export function dayName(isoDay, todayIso) {
  const options = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };
  if (isoDay.slice(0, 4) !== todayIso.slice(0, 4)) options.year = "numeric";
  return new Intl.DateTimeFormat(LOCALE, options).format(new Date(`${isoDay}T00:00:00Z`));
}

/** The ISO day some days away; plain calendar arithmetic, no time zone. */
export function addDays(isoDay, count) {
  const day = new Date(`${isoDay}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + count);
  return day.toISOString().slice(0, 10);
}
