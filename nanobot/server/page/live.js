/** What happens now: the events of a conversation, and a look now and then at all of them. */

import { access, read } from "./api.js";
import { signal } from "./lib.js";

const EVERY = 5_000;

/** Whether the gateway answered last. */
export const following = signal(true);
/** How many conversations have something unread, and how many questions wait. */
export const unread = signal(0);
export const waiting = signal(0);
/** Counts up whenever something changed anywhere. */
export const changed = signal(0);

let newest = "";

async function look() {
  if (document.hidden || access.value === "out") return;
  try {
    const [sessions, fresh, approvals] = await Promise.all([
      read("sessions list", { limit: 5 }),
      read("sessions list", { unread: true, limit: 100 }),
      read("approvals list", { state: "open", limit: 100 }),
    ]);
    following.value = true;
    unread.value = fresh.length;
    waiting.value = approvals.length;
    const mark = JSON.stringify([sessions.map(({ key, updated_at: at, run, waiting: left }) => [key, at, run, left]), fresh.length, approvals.map(({ id }) => id)]);
    if (mark !== newest) changed.value += 1;
    newest = mark;
  } catch {
    following.value = access.value !== "away";
  }
}

/** Look at all conversations from now on, while somebody looks at the page. */
export function follow() {
  look();
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}

/**
 * The events of one conversation, also over lost connections. Returns how to stop.
 * @param {string} session @param {{ event: (event: any) => void, message: (message: any) => void, again: () => void }} to
 */
export function watch(session, to) {
  const source = new EventSource(`/api/sessions/${encodeURIComponent(session)}/events`);
  let opened = false;
  source.addEventListener("open", () => {
    if (opened) to.again();
    opened = true;
    following.value = true;
  });
  source.addEventListener("event", ({ data }) => to.event(JSON.parse(data)));
  source.addEventListener("message", ({ data }) => to.message(JSON.parse(data)));
  source.addEventListener("error", () => {
    following.value = false;
  });
  return () => source.close();
}
