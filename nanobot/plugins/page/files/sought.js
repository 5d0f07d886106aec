/** The message that a conversation is to be opened at. */

import { read } from "./api.js";
import { signal, useEffect, useState } from "./lib.js";

/**
 * An entry by its number, or the newest one with some words in it.
 * @typedef {{ session: string, seq?: number, find?: string }} Sought
 */

export const sought = signal(/** @type {Sought | null} */ (null));

/** The entry that is sought there; 0: none. @param {string} session */
export function useSought(session) {
  const [seq, setSeq] = useState(0);
  const wanted = sought.value?.session === session ? sought.value : null;
  useEffect(() => {
    if (!wanted) return;
    sought.value = null;
    if (wanted.seq) setSeq(wanted.seq);
    else if (wanted.find)
      read("search", { find: wanted.find, session, limit: 1 }).then(
        ([hit]) => setSeq(hit?.seq ?? 0),
        () => undefined,
      );
  }, [wanted]);
  return seq;
}
