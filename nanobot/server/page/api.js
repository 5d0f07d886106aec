/** The gateway's HTTP API: one function for what only reads, one for what changes something. */

import { signal } from "./lib.js";

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
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
}

/** @param {string} path @param {RequestInit} [options] */
export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    access.value = "away";
    throw new ApiError(0, "away", "The gateway does not answer.");
  }
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

/** An operation that only reads. @param {string} name as in the list: "runs list" */
export async function read(name, values = {}, options = {}) {
  const response = await request(`/api/${name.replaceAll(" ", "/")}${query(values)}`, options);
  return response.json();
}

/** An operation that changes something. @param {string} name @param {Record<string, unknown>} values */
export async function change(name, values = {}) {
  const response = await request(`/api/${name.replaceAll(" ", "/")}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
  return response.json();
}

/** A key that makes a message one message, however often it is sent. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
