/** The page's languages: English is the key, others are looked up. */

import { signal } from "./lib.js";

/** @type {Record<string, string>} */
let words = Object.create(null);

export const LANGUAGES = { en: "English", zh: "中文" };

/** The language shown; a change draws everything anew. */
export const language = signal("en");

/** Whether a view other than the first one has been opened, which has texts of its own. */
let whole = false;

/**
 * The modules with the texts of plugins' views, by language: of all views that were shown.
 * @type {Set<Record<string, string>>}
 */
const brought = new Set();

/** @param {string} name @returns {Promise<Record<string, string>>} */
async function own(name) {
  if (name !== "zh") return {};
  const first = (await import("./locales/zh.js")).default;
  return whole ? { ...first, ...(await import("./locales/zh-views.js")).default } : first;
}

/** The texts of a view, which stay in English if they cannot be loaded. @param {string} file */
const added = (file) =>
  import(file).then(
    (module) => /** @type {Record<string, string>} */ (module.default),
    (error) => (console.warn(error), {}),
  );

/** The language that is being loaded, and how often one was. */
let wanted = "en";
let turn = 0;

/** Loads the texts that are needed by now. What the page itself says, no plugin changes. */
async function renew() {
  turn += 1;
  const mine = turn;
  const files = [...brought].map((languages) => languages[wanted]).filter(Boolean);
  const [first, ...others] = await Promise.all([own(wanted), ...files.map(added)]);
  if (mine === turn) words = Object.assign(Object.create(null), ...others, first);
}

/** Loads the texts of all views of the page itself. */
export async function speakWhole() {
  if (whole) return;
  whole = true;
  await renew();
}

/**
 * The texts of a plugin's view are known from now on, in every language.
 * @param {Record<string, string>} languages the address of a module by language
 */
export async function learn(languages) {
  brought.add(languages);
  await renew();
}

/** @param {string} name */
export async function speak(name) {
  wanted = name;
  await renew();
  if (wanted !== name) return;
  document.documentElement.lang = name;
  localStorage.setItem("language", name);
  language.value = name;
}

/** The language of before, else the browser's. */
export async function begin() {
  const before =
    localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  await speak(before in LANGUAGES ? before : "en");
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
