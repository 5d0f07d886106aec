/** The gateway's HTTP API: one function for what only reads, one for what changes something. */

import { computed, signal } from "./lib.js";

/**
 * Who asks, as the gateway sees it.
 * @type {import("./vendor/signals-core.js").Signal<{ name: string, role: string, session: string,
 *   csrf: string, page: string } | null>}
 */
export const me = signal(null);

const OWN = /\/page\/([0-9a-f]+)\//.exec(import.meta.url)?.[1] ?? "";

/** Whether the gateway serves another version of this page by now. */
export const outdated = computed(() => Boolean(OWN && me.value && me.value.page !== OWN));

/** Whether the gateway answers, and lets this browser in: "in" | "out" | "away". */
export const access = signal("in");

/** What the gateway refused: `code` names the kind of error, `message` is for people. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @param {Record<string, unknown>} values */
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

/** An answer that is none is an ApiError. @param {Response} response */
async function judged(response) {
  if (access.value === "away") access.value = "in";
  if (response.ok) return response;
  let told = { code: "http", message: `${response.status} ${response.statusText}` };
  try {
    told = { ...told, ...(await response.json()).error };
  } catch {
    // Not ours: whatever stands between answered.
  }
  if (response.status === 401) access.value = "out";
  throw new ApiError(response.status, told.code, told.message);
}

/** @param {string} path @param {RequestInit} [options] */
export async function request(path, options = {}) {
  let response;
  try {
    const headers = {
      ...options.headers,
      ...(options.method === "POST" && me.value?.csrf ? { "X-CSRF-Token": me.value.csrf } : {}),
    };
    response = await fetch(path, { credentials: "same-origin", ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    access.value = "away";
    throw new ApiError(0, "away", "The gateway does not answer.");
  }
  return judged(response);
}

/** @param {Record<string, unknown>} values */
const json = (values) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(values),
});

/**
 * Something posted beside the operations.
 * @param {string} path
 * @param {Record<string, unknown>} values
 */
export const post = async (path, values) => (await request(path, json(values))).json();

/** What is got beside the operations. @param {string} path */
export async function get(path, values = {}, options = {}) {
  const whole = `${path}${query(values)}`;
  const early = await taken(whole);
  if (!early) return (await request(whole, options)).json();
  await judged(early.response);
  return early.value;
}

/** The path of a conversation's own resources. @param {string} key */
export const conversation = (key) => `/api/sessions/${encodeURIComponent(key)}`;

/** Where a file of the workspace is saved from. @param {string} path */
export const workspaceFile = (path) => `/api/workspace?path=${encodeURIComponent(path)}`;

/** An operation that only reads. @param {string} name as in the list: "runs list" */
export const read = (name, values = {}, options = {}) =>
  get(`/api/${name.replaceAll(" ", "/")}`, values, options);

/**
 * An operation that changes something.
 * @param {string} name
 * @param {Record<string, unknown>} values
 */
export const change = (name, values = {}) => post(`/api/${name.replaceAll(" ", "/")}`, values);

/** Learn who asks; whether anybody may. */
export async function known() {
  try {
    me.value = await get("/api/me");
    return true;
  } catch {
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
