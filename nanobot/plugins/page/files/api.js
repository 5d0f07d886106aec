/** The gateway's HTTP API: one function for what only reads, one for what changes something. */

import { language, t } from "./i18n.js";
import { computed, signal } from "./lib.js";

/** What a path is called here: a proxy may serve the gateway below a path of its own. */
const BASE = new URL("../../", import.meta.url);

/** The address of a path of the gateway. @param {string} path */
export const at = (path) => `${BASE.pathname.slice(0, -1)}${path}`;

/** The address of its WebSocket. */
export const socketUrl = () =>
  `${BASE.protocol === "https:" ? "wss" : "ws"}://${BASE.host}${at("/ws")}`;

/**
 * The types of the gateway's own OpenAPI document, which `make rules` writes before it checks.
 * @typedef {import("./gateway.js").Reads} Reads
 * @typedef {import("./gateway.js").Changes} Changes
 * @typedef {import("./gateway.js").Gets} Gets
 * @typedef {import("./gateway.js").Posts} Posts
 * @typedef {import("./gateway.js").SessionGets} SessionGets
 * @typedef {import("./gateway.js").SessionPosts} SessionPosts
 * @typedef {{ signal?: AbortSignal }} Options
 */

/**
 * The arguments of a request: they may be left out where all of them may.
 * @template T
 * @typedef {{} extends T ? [values?: T, options?: Options] : [values: T, options?: Options]} Given
 */

/** Who asks, as the gateway sees it. */
export const me = signal(/** @type {import("./gateway.js").Me | null} */ (null));

/**
 * Whether the gateway lets this person perform an operation, with an argument if one is named. The
 * page offers nothing else.
 * @param {keyof Reads | keyof Changes} name as in the list: "runs list" @param {string} [argument]
 */
export function may(name, argument) {
  const allowed = me.value?.operations[name];
  return Boolean(allowed && (!argument || allowed.includes(argument)));
}

const OWN = /\/page\/([0-9a-f]+)\//.exec(import.meta.url)?.[1] ?? "";

/** Whether the gateway serves another version of this page by now. */
export const outdated = computed(() => Boolean(OWN && me.value && me.value.page !== OWN));

/** Whether the gateway answers, and lets this browser in: "in" | "out" | "away". */
export const access = signal("in");
/** Why a link let nobody in; "" where none was refused. */
export const refused = signal("");

/** What went wrong, in words for people. */
export class Told extends Error {}

/** What the gateway refused: `code` names the kind of error, `message` is for people. */
export class ApiError extends Told {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @param {object} values */
function query(values) {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== "" && value !== null,
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}

/**
 * The answer that was asked for before there were modules, once; see early.js.
 * @param {string} path @returns {Promise<{ response: Response, value: any } | undefined>}
 */
async function taken(path) {
  /** @type {Map<string, Promise<{ response: Response, value: any }>> | undefined} */
  const early = /** @type {any} */ (globalThis).early;
  const answer = early?.get(path);
  early?.delete(path);
  return answer?.catch(() => undefined);
}

/** What a proxy answers while the gateway behind it is not there. */
const BEHIND = [502, 503, 504];

/** Nothing came of a request, as far as can be seen from here. */
function silence() {
  access.value = "away";
  return new ApiError(0, "away", t("The gateway does not answer."));
}

/** It is not the gateway that answered so. @param {Response} response */
const strange = ({ status }) =>
  new ApiError(status, "http", t("This is no answer of the gateway ({status}).", { status }));

/**
 * What the gateway refused with; null if something between answered.
 * @param {Response} response @returns {Promise<{ code: string, message: string } | null>}
 */
async function refusal(response) {
  try {
    const { error } = await response.json();
    return error?.message ? error : null;
  } catch {
    return null;
  }
}

/** An answer that is none is an ApiError. @param {Response} response */
async function judged(response) {
  const told = response.ok ? null : await refusal(response);
  if (!response.ok && !told && BEHIND.includes(response.status)) throw silence();
  if (access.value === "away") access.value = "in";
  if (response.ok) return response;
  if (response.status === 401) access.value = "out";
  throw told ? new ApiError(response.status, told.code, told.message) : strange(response);
}

/** @param {Response} response */
const bodyOf = (response) =>
  response.json().catch((error) => {
    throw error instanceof SyntaxError ? strange(response) : error;
  });

/** @param {string} path @param {RequestInit} [options] */
export async function request(path, options = {}) {
  let response;
  try {
    const headers = {
      "Accept-Language": language.value,
      ...options.headers,
      ...(options.method === "POST" && me.value?.csrf ? { "X-CSRF-Token": me.value.csrf } : {}),
    };
    response = await fetch(at(path), { credentials: "same-origin", ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw silence();
  }
  return judged(response);
}

/** @param {object} values */
const json = (values) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(values),
});

/**
 * @param {string} path
 * @param {object} values
 */
const posted = async (path, values) => bodyOf(await request(path, json(values)));

/** By the name of a list: how many of its rows the gateway could not read. */
export const unreadable = signal(/** @type {Record<string, number>} */ ({}));

/** @param {string} path @param {Response} response */
function counted(path, response) {
  const name = path.slice("/api/".length).replaceAll("/", " ");
  const count = Number(response.headers.get("Nanobot-Unreadable"));
  const counts = unreadable.value;
  if (count !== (counts[name] ?? 0)) unreadable.value = { ...counts, [name]: count };
}

/**
 * @param {string} path
 * @param {object} [values]
 * @param {Options} [options]
 */
async function got(path, values = {}, options = {}) {
  const whole = `${path}${query(values)}`;
  const early = await taken(whole);
  const response = early ? await judged(early.response) : await request(whole, options);
  counted(path, response);
  return early ? early.value : bodyOf(response);
}

/**
 * Something posted that is no operation.
 * @template {keyof Posts} P
 * @param {P} path
 * @param {Posts[P]["takes"]} values
 * @returns {Promise<Posts[P]["gives"]>}
 */
export const post = (path, values) => posted(path, values);

/**
 * Something got that is no operation.
 * @template {keyof Gets} P
 * @param {P} path
 * @returns {Promise<Gets[P]["gives"]>}
 */
export const get = (path) => got(path);

/** @param {string} key @param {string} part */
const pathIn = (key, part) => `/api/sessions/${encodeURIComponent(key)}/${part}`;

/**
 * A part of a conversation.
 * @template {keyof SessionGets} P
 * @param {string} key
 * @param {P} part
 * @param {SessionGets[P]["takes"]} values
 * @returns {Promise<SessionGets[P]["gives"]>}
 */
export const readIn = (key, part, values) => got(pathIn(key, part), values);

/**
 * Something posted to a conversation.
 * @template {keyof SessionPosts} P
 * @param {string} key
 * @param {P} part
 * @param {SessionPosts[P]["takes"]} values
 * @returns {Promise<SessionPosts[P]["gives"]>}
 */
export const postIn = (key, part, values) => posted(pathIn(key, part), values);

/** Where a file of the workspace is saved from. @param {string} path */
export const workspaceFile = (path) => at(`/api/workspace?path=${encodeURIComponent(path)}`);

/** @param {string} name */
const pathOf = (name) => `/api/${name.replaceAll(" ", "/")}`;

/**
 * An operation that only reads.
 * @template {keyof Reads} N
 * @param {N} name as in the list: "runs list"
 * @param {Given<Reads[N]["takes"]>} given
 * @returns {Promise<Reads[N]["gives"]>}
 */
export const read = (name, ...given) => got(pathOf(name), ...given);

/**
 * An operation that changes something.
 * @template {keyof Changes} N
 * @param {N} name
 * @param {Given<Changes[N]["takes"]>} given
 * @returns {Promise<Changes[N]["gives"]>}
 */
export async function change(name, ...given) {
  const gives = await posted(pathOf(name), given[0] ?? {});
  if (!UNSEEN.includes(name)) siblings.postMessage(name);
  return gives;
}

/** Other pages of this browser are told that something was changed. */
export const siblings = new BroadcastChannel("nanobot");
/** @type {string[]} what no other tab shows, or what only reads */
const UNSEEN = ["model", "sessions mark-read"];

/** Learn who asks; whether anybody may. Of whom the gateway says nothing now, it may say later. */
export async function known() {
  try {
    me.value = await get("/api/me");
    localStorage.setItem("lists", may("sessions list") ? "yes" : "no");
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) {
      refused.value = error.message;
      access.value = "out";
    } else if (access.value !== "out") {
      access.value = "away";
    }
    return false;
  }
}

/** Get in with the secret of a link, or a token. @param {string} secret */
export async function enter(secret) {
  await post("/api/login", { secret });
  access.value = "in";
  await known();
}

/** A key that makes a message one message, however often it is sent. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
