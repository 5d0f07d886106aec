/**
 * What the views of plugins are made with. The modules of a view's folder import it; a script that
 * stands alone gets it, and returns a component.
 */

import { at } from "./api.js";
import { learn } from "./i18n.js";
import * as kit from "./kit.js";
import { asset } from "./lib.js";
import { styled } from "./styles.js";

export { at, change, may, me, read } from "./api.js";
export { clock, count, duration, fixed, moment, money, short, size } from "./format.js";
export { language, t } from "./i18n.js";
export { html, useEffect, useMemo, useRef, useState } from "./lib.js";
export { changed } from "./live.js";
export {
  Button,
  Choice,
  complain,
  Empty,
  Fetched,
  said,
  Unreadable,
  useFetched,
  When,
} from "./parts/basics.js";
export { Dialog, Field, Switch, valueOf } from "./parts/dialog.js";
export { Head, State, useMore } from "./parts/list.js";
export { Bars } from "./parts/chart.js";
export { Markdown } from "./parts/markdown.js";
export { tell } from "./parts/notices.js";
export { go, lastOpened, link } from "./router.js";

/**
 * A view with its stylesheet and its texts, as the gateway names them.
 * @typedef {{ script: string, style: string, texts: Record<string, string> }} Added
 */

/** The name of a file of the page itself; "" if it is none. @param {string} path */
const ours = (path) => /^\/page\/\w+\/(.+)$/.exec(path)?.[1] ?? "";

/** The file of the version of this page. @param {string} path */
const address = (path) => asset(`./${ours(path)}`);

/** The views whose texts are known. @type {Set<string>} */
const learned = new Set();

/** @param {Added} view */
async function spoken({ script, texts }) {
  const files = Object.entries(texts).map(([language, path]) => [language, address(path)]);
  if (learned.has(script) || files.length === 0) return;
  learned.add(script);
  await learn(Object.fromEntries(files));
}

/**
 * A view, once its styles and its texts are there. One in a folder is made of files of the page
 * itself, of the version of this one.
 * @param {Added} view
 */
export async function made(view) {
  if (!ours(view.script)) return { default: (await import(at(view.script))).default(kit) };
  const [module] = await Promise.all([
    import(address(view.script)),
    view.style && styled(address(view.style)),
    spoken(view),
  ]);
  return module;
}
