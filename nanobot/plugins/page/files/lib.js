/** What every part of the page is made with, under one name. */

import { Fragment, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export {
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useCallback,
} from "./vendor/preact-hooks.js";
export {
  batch,
  computed,
  effect,
  signal,
  useComputed,
  useSignal,
  useSignalEffect,
} from "./vendor/signals.js";
export { Fragment, h, render };

/** @type {(strings: TemplateStringsArray, ...values: unknown[]) => any} */
export const html = htm.bind(h);

/**
 * The address of another file of the page, of the same version as this one.
 * @param {string} name
 */
export const asset = (name) => new URL(name, import.meta.url).href;
