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
 * @param {import("../kit.js").Added} view
 */
async function load(view) {
  const { script } = view;
  if (asked.has(script)) return;
  asked.add(script);
  const { made } = await import("../kit.js");
  const module = await made(view);
  loaded.value = { ...loaded.value, [script]: module.default };
}

/** @typedef {"run" | "step" | "skills" | "memory" | "channels" | "policy"} Place */

/**
 * What plugins add there, each with these properties.
 * @param {{ place: Place } & Record<string, unknown>} props
 */
export function Added({ place, ...rest }) {
  const views = (me.value?.views ?? [])
    .filter((view) => view.place === place)
    .sort((one, other) => one.order - other.order);
  const scripts = views.map((view) => view.script);
  useEffect(() => views.forEach((view) => load(view).catch(console.warn)), [scripts.join()]);
  const parts = scripts.filter((script) => script in loaded.value);
  return parts.map((script) => {
    const Part = loaded.value[script];
    return html`<${Part} key=${script} ...${rest} />`;
  });
}
