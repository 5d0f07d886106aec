/** Messages as places to go to. */

import { read } from "../api.js";

const MOST = 8;
const SHORTEST = 2;

/**
 * What was said with these words, the newest first.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<import("./palette.js").Place[]>}
 */
export async function said(text, signal) {
  if (text.trim().length < SHORTEST) return [];
  const hits = await read("search", { find: text, limit: MOST }, { signal });
  return hits.map(({ session_key: what, title, before, match, after, seq }) => ({
    view: "chat",
    what,
    icon: "search",
    // The words first: a narrow screen shows the beginning.
    text: `${before.length > 24 ? `…${before.slice(-20)}` : before}${match}${after}`,
    more: title || what,
    seq,
  }));
}
