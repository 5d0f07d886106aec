/**
 * What the views of plugins are made with. The modules of a view's folder import it; a script that
 * stands alone gets it, and returns a component.
 */

import { at } from "./api.js";
import * as kit from "./kit.js";
import { asset } from "./lib.js";

export { at, change, may, me, read } from "./api.js";
export { clock, count, duration, moment, money, short } from "./format.js";
export { language, t } from "./i18n.js";
export { html, useEffect, useMemo, useRef, useState } from "./lib.js";
export { changed } from "./live.js";
export {
  Button,
  Choice,
  complain,
  Dialog,
  Empty,
  Fetched,
  Field,
  Head,
  said,
  State,
  Switch,
  Unreadable,
  useFetched,
  valueOf,
  When,
} from "./parts/basics.js";
export { Bars } from "./parts/chart.js";
export { tell } from "./parts/notices.js";
export { go, lastOpened, link } from "./router.js";

/**
 * The view of a script. One in a folder is a file of the page itself, of the version of this one.
 * @param {string} script
 */
export async function made(script) {
  const [, file] = /^\/page\/\w+\/(.+)$/.exec(script) ?? [];
  if (file) return import(asset(`./${file}`));
  return { default: (await import(at(script))).default(kit) };
}
