/** Where somebody reads: at the end, which moves on with what is said, or at a place that stays. */

import { useLayoutEffect, useRef, useState } from "../../lib.js";

const NEAR = 120;
/** So far before an end of what is loaded, more is asked for. */
const AHEAD = 800;

/**
 * The scroller of a conversation. What is read stays where it is when something comes above it.
 * @param {unknown[]} watched what changes what is drawn
 * @param {{
 *   more: boolean, behind: boolean, older: () => Promise<void>, newer: () => Promise<void>,
 * }} log
 */
export function useReading(watched, { more, behind, older, newer }) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  const atEnd = useRef(true);
  const held = useRef({ node: /** @type {Element | null} */ (null), top: 0, scrolled: 0 });
  const [away, setAway] = useState(false);
  /** The first thing that can be seen, and where; but for names of days, which come and go. */
  const hold = () => {
    const top = element.current?.getBoundingClientRect().top ?? 0;
    const node = [...(element.current?.firstElementChild?.children ?? [])].find(
      (each) => each.getBoundingClientRect().bottom > top && !each.matches(".older, .day"),
    );
    held.current = {
      node: node ?? null,
      top: node?.getBoundingClientRect().top ?? 0,
      scrolled: element.current?.scrollTop ?? 0,
    };
  };
  const look = () => {
    const scroller = element.current;
    if (!scroller) return;
    const { scrollTop, scrollHeight, clientHeight } = scroller;
    const below = scrollHeight - scrollTop - clientHeight;
    atEnd.current = below < NEAR && !behind;
    setAway(!atEnd.current);
    hold();
    if (scrollTop < AHEAD && more) older();
    else if (below < AHEAD && behind) newer();
  };
  useLayoutEffect(() => {
    const scroller = element.current;
    if (!scroller) return;
    const { node, top, scrolled } = held.current;
    // What was scrolled since then is told of in a moment: it is not to be taken back here.
    const since = scroller.scrollTop - scrolled;
    if (atEnd.current && since >= 0) scroller.scrollTop = scroller.scrollHeight;
    else if (node?.isConnected)
      scroller.scrollTop += node.getBoundingClientRect().top - top + since;
    hold();
  }, watched);
  /** To one end of what is loaded. @param {"first" | "last"} end */
  const to = (end) => {
    atEnd.current = end === "last";
    held.current = { node: null, top: 0, scrolled: 0 };
    setAway(!atEnd.current);
    if (element.current)
      element.current.scrollTop = end === "last" ? element.current.scrollHeight : 0;
  };
  /** To something that is drawn, which stays where it is then. @param {Element} node */
  const show = (node) => {
    atEnd.current = false;
    setAway(true);
    node.scrollIntoView({ block: "center" });
    hold();
  };
  return { element, look, away, to, show };
}
