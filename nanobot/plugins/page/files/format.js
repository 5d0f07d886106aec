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
  return bytes < 1_048_576
    ? `${(bytes / 1_024).toFixed(0)} kB`
    : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
