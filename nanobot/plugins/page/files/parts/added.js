/** Parts that plugins add to views of the page. */

import { me } from "../api.js";
import { html, signal, useEffect } from "../lib.js";

/** @typedef {import("../vendor/preact.js").ComponentType<Record<string, unknown>>} Part */

/** @type {import("../vendor/signals-core.js").Signal<Record<string, Part>>} */
const loaded = signal({});

/** @type {Set<string>} */
const asked = new Set();

/**
 * A part that cannot be loaded is missing, and the view is whole without it.
 * @param {string} script
 */
async function load(script) {
  if (asked.has(script)) return;
  asked.add(script);
  const { made } = await import("../kit.js");
  const module = await made(script);
  loaded.value = { ...loaded.value, [script]: module.default };
}

/**
 * What plugins add there, each with these properties.
 * @param {{ place: "run" | "step" | "skills" | "memory" } & Record<string, unknown>} props
 */
export function Added({ place, ...rest }) {
  const scripts = (me.value?.views ?? [])
    .filter((view) => view.place === place)
    .map((view) => view.script);
  useEffect(() => scripts.forEach((script) => load(script).catch(console.warn)), [scripts.join()]);
  const parts = scripts.filter((script) => script in loaded.value);
  return parts.map((script) => {
    const Part = loaded.value[script];
    return html`<${Part} key=${script} ...${rest} />`;
  });
}
