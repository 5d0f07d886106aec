/** Numbers, times and sizes as people read them, in the language shown. */

import { language, t } from "./i18n.js";

const UNITS = /** @type {const} */ ([
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
]);

/**
 * One for each language: to make it costs as much as to use it a hundred times.
 * @template T @param {(language: string) => T} make @returns {() => T}
 */
function kept(make) {
  /** @type {Map<string, T>} */
  const made = new Map();
  return () => {
    const one = made.get(language.value) ?? make(language.value);
    made.set(language.value, one);
    return one;
  };
}

const relative = kept(
  (name) => new Intl.RelativeTimeFormat(name, { numeric: "auto", style: "short" }),
);
const exact = kept(
  (name) => new Intl.DateTimeFormat(name, { dateStyle: "medium", timeStyle: "short" }),
);
const hours = kept((name) => new Intl.DateTimeFormat(name, { hour: "2-digit", minute: "2-digit" }));

/** "3 minutes ago". @param {number} at unix seconds */
export function ago(at, now = Date.now() / 1000) {
  const seconds = at - now;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return seconds > 5 ? t("in a moment") : t("just now");
}

/** @param {number} at unix seconds */
export const moment = (at) => exact().format(at * 1000);

/** @param {number} at unix seconds */
export const clock = (at) => hours().format(at * 1000);

/** @param {number} at unix seconds */
export function day(at) {
  const date = new Date(at * 1000);
  const days = Math.round(
    (new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 86_400_000,
  );
  if (days === 0) return t("Today");
  if (days === 1) return t("Yesterday");
  return date.toLocaleDateString(language.value, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
  });
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} value */
export const count = (value) => value.toLocaleString(language.value);

/** @param {number} value */
export const short = (value) =>
  value.toLocaleString(language.value, { notation: "compact", maximumFractionDigits: 1 });

/** US dollars. @param {number | null | undefined} value */
export function money(value) {
  if (value === null || value === undefined) return "";
  const digits = value > 0 && value < 0.1 ? 4 : 2;
  return value.toLocaleString(language.value, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/**
 * A text that shows what there is: marks that turn the direction of writing or take no room are
 * spelled out. @param {string} text
 */
export const spelled = (text) =>
  text.replace(
    /[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]|[^\P{Cc}\n\t]/gu,
    (mark) => `\\u${mark.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576
    ? `${(bytes / 1_024).toFixed(0)} kB`
    : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
