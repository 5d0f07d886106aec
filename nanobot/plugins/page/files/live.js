/**
 * What happens now, over one WebSocket: all conversations a little, the one that is looked at in
 * full.
 */

import { access, known, may, read, siblings, socketUrl } from "./api.js";
import { language } from "./i18n.js";
import { signal } from "./lib.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const ALL = "";

/** Whether the gateway tells what happens. */
export const following = signal(false);
/** How many conversations have something unread, and how many questions wait. */
export const unread = signal(0);
export const waiting = signal(0);
/** Counts up whenever something changed anywhere. */
export const changed = signal(0);

/** @typedef {import("./gateway.js").Socket["item"]} SessionItem */

/** @type {Map<string, { after: string, hear: (item: SessionItem) => void }>} */
const followed = new Map();
/** @type {WebSocket | null} */
let socket = null;
let wait = FIRST_WAIT;
let late = 0;

/** @param {Record<string, unknown>} request */
const ask = (request) =>
  socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(request));

/** Which stream an item belongs to, by the first part of its id; its snapshot says whose it is. */
const owners = new Map();

/** @param {{ data: string }} message */
function hear({ data }) {
  const item = JSON.parse(data);
  if (item.type === "error") console.warn(item.error?.message);
  const stream = item.id?.split("-")[0];
  if (!stream) return;
  if (item.type === "snapshot") owners.set(stream, item.session_key ?? ALL);
  const one = followed.get(owners.get(stream));
  if (!one) return;
  one.after = item.id;
  one.hear(item);
}

function connect() {
  socket = new WebSocket(socketUrl());
  const opened = Date.now();
  socket.addEventListener("open", () => {
    following.value = true;
    for (const [session, { after }] of followed)
      ask({ op: "follow", session, after, language: language.value });
  });
  socket.addEventListener("message", hear);
  socket.addEventListener("close", async () => {
    following.value = false;
    // One that is closed again at once is no reason to hurry.
    if (Date.now() - opened > LONGEST_WAIT) wait = FIRST_WAIT;
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT);
    // A cookie that ended is found out here, and not by trying for ever.
    if (!(await known()) && access.value === "out") return;
    connect();
  });
}

async function recount() {
  const [sessions, approvals] = await Promise.all([
    may("sessions list") ? read("sessions list", { unread: true, limit: 100 }) : [],
    may("approvals list") ? read("approvals list", { state: "open", limit: 100 }) : [],
  ]);
  // What is being answered has nothing to be read yet.
  unread.value = sessions.filter(({ run }) => !run).length;
  waiting.value = approvals.filter(({ yours }) => yours).length;
}

/**
 * Something changed. It is said a moment later, because much changes at once; what changes
 * meanwhile does not put that off.
 */
function note() {
  if (late) return;
  late = setTimeout(() => {
    late = 0;
    changed.value += 1;
    recount().catch(() => undefined);
  }, 200);
}

/** Hear of all conversations from now on. */
export function follow() {
  followed.set(ALL, { after: "", hear: note });
  // No conversation tells of a job or a token that was added: another tab does, or it is looked up.
  siblings.addEventListener("message", note);
  document.addEventListener("visibilitychange", () => document.hidden || note());
  note();
  connect();
}

/**
 * Hear of one conversation, also over lost connections. Returns how to stop.
 * @param {string} session @param {(item: SessionItem) => void} listener
 */
export function watch(session, listener) {
  followed.set(session, { after: "", hear: listener });
  ask({ op: "follow", session, language: language.value });
  return () => {
    followed.delete(session);
    ask({ op: "leave", session });
  };
}
