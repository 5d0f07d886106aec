/** The page's languages: English is the key, others are looked up. */

import { signal } from "./lib.js";

/** @type {Record<string, string>} */
let words = {};

export const LANGUAGES = { en: "English", zh: "中文" };

/** The language shown; a change draws everything anew. */
export const language = signal("en");

/** @param {string} name */
export async function speak(name) {
  words = name === "zh" ? (await import("./locales/zh.js")).default : {};
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
