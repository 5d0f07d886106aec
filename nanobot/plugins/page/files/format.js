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
/**
 * Times of the browser's own zone, or of another one if the browser knows it.
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {(at: number, zone?: string) => string} `at` in unix seconds
 */
function times(options) {
  const own = kept((name) => new Intl.DateTimeFormat(name, options));
  return (at, zone) => {
    const date = dated(at);
    if (!date) return NEVER;
    try {
      if (zone) return date.toLocaleString(language.value, { ...options, timeZone: zone });
    } catch {
      // A zone that only the gateway knows.
    }
    return own().format(date);
  };
}

/** The time, if it is one that a calendar has. @param {number} at unix seconds */
export function dated(at) {
  const date = new Date(at * 1000);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** In the place of a time that no calendar has. */
const NEVER = "–";

/** "3 minutes ago". @param {number} at unix seconds */
export function ago(at, now = Date.now() / 1000) {
  if (!dated(at)) return NEVER;
  const seconds = at - now;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return seconds > 5 ? t("in a moment") : t("just now");
}

/** A day and a time. */
export const moment = times({ dateStyle: "medium", timeStyle: "short" });

/** A time of a day. */
export const clock = times({ hour: "2-digit", minute: "2-digit" });

/** @param {number} at unix seconds */
export function day(at) {
  const date = dated(at);
  if (!date) return NEVER;
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
  if (ms < 1_000) return t("{n} ms", { n: Math.round(ms) });
  if (ms < 59_950) return t("{n} s", { n: fixed(ms / 1_000, 1) });
  const [seconds, minutes] = [Math.round(ms / 1_000), Math.floor(ms / 60_000)];
  if (seconds < 3_600) return t("{m} min {s} s", { m: Math.floor(seconds / 60), s: seconds % 60 });
  return t("{h} h {m} min", { h: Math.floor(minutes / 60), m: minutes % 60 });
}

/** @param {number} value */
export const count = (value) => value.toLocaleString(language.value);

/** With so many digits behind the point. @param {number} value @param {number} digits */
export const fixed = (value, digits) =>
  value.toLocaleString(language.value, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });

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

const UNSEEN = /[\p{Cf}\p{Cc}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Zs}]/u;
const BLANK = new RegExp(
  "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d\\u180f\\u2800\\u3164\\uffa0" +
    "\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}\\u{1d159}]",
  "u",
);

/**
 * A text that shows what there is: marks that turn the direction of writing, take no room, look
 * like a space or pile up on a letter are shown as <U+202E>, long stretches of nothing by their
 * length. As nanobot/visible.py does. @param {string} text
 */
export function spelled(text) {
  let marks = 3;
  let before = "";
  let shown = "";
  for (const char of text.replace(
    /<(?=U\+[0-9A-F]{4,6}>|\d+ (?:spaces|empty lines)>)/g,
    "<U+003C>",
  )) {
    const plain = char === " " || char === "\t" || char === "\n";
    if (/\p{M}/u.test(char)) marks += 1;
    else marks = plain ? 3 : 0;
    const look = char === "\ufe0f" && /\p{So}/u.test(before);
    const hidden = !plain && (UNSEEN.test(char) || BLANK.test(char) || marks > 3);
    shown += hidden && !look ? named(char) : char;
    before = char;
  }
  return shown
    .replace(/ {41,}/g, (gap) => `<${gap.length} spaces>`)
    .replace(/\n{5,}/g, (gap) => `\n<${gap.length - 1} empty lines>\n`);
}

/** @param {string} char */
const named = (char) =>
  `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${fixed(bytes / 1_024, 0)} kB` : `${fixed(bytes / 1_048_576, 1)} MB`;
}
