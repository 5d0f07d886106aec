/** The page's languages: English is the key, others are looked up. */

import { signal } from "./lib.js";

/** @type {Record<string, string>} */
let words = {};

export const LANGUAGES = { en: "English", zh: "中文" };

/** The language shown; a change draws everything anew. */
export const language = signal("en");

/** Whether a view other than the first one has been opened, which has texts of its own. */
let whole = false;

/** @param {string} name @returns {Promise<Record<string, string>>} */
async function texts(name) {
  if (name !== "zh") return {};
  const first = (await import("./locales/zh.js")).default;
  return whole ? { ...first, ...(await import("./locales/zh-views.js")).default } : first;
}

/** Loads the texts of all views. */
export async function speakWhole() {
  if (whole) return;
  whole = true;
  words = await texts(language.value);
}

/** @param {string} name */
export async function speak(name) {
  words = await texts(name);
  document.documentElement.lang = name;
  localStorage.setItem("language", name);
  language.value = name;
}

/** The language of before, else the browser's. */
export async function begin() {
  const wanted =
    localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  await speak(wanted in LANGUAGES ? wanted : "en");
}

/**
 * The text in the language shown; `{name}` stands for a value.
 * @param {string} text @param {Record<string, unknown>} [values]
 */
export function t(text, values) {
  const translated = (language.value, words[text] ?? text);
  return values
    ? translated.replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all))
    : translated;
}
