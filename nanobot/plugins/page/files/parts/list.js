/** What views of lists are made of: a head, the state of a row, and more rows. */

import { language, t } from "../i18n.js";
import { html, useState } from "../lib.js";
import { Button } from "./button.js";

/** @typedef {import("./basics.js").Children} Children */

/**
 * The head of a view: its name, what it is for, and what can be done.
 * @param {{ title: string, children?: Children, about?: string }} props
 */
export const Head = ({ title, children, about }) => html`
  <header class="head">
    <div>
      <h1>${title}</h1>
      ${about && html`<p>${about}</p>`}
    </div>
    <div class="actions">${children}</div>
  </header>
`;

/** @type {Record<string, string[]>} */
const TONES = {
  good: [
    "completed",
    "succeeded",
    "sent",
    "done",
    "active",
    "connected",
    "running",
    "ok",
    "approved",
    "direct",
    "polling",
    "up",
    "serving",
    "ready",
    "passed",
  ],
  busy: [
    "queued",
    "preparing",
    "model_running",
    "tool_running",
    "sending",
    "pending",
    "preview",
    "starting",
    "connecting",
    "proposed",
  ],
  wait: [
    "awaiting_human",
    "waiting",
    "held",
    "paused",
    "digested",
    "open",
    "missed",
    "risk",
    "lacking",
  ],
  bad: ["failed", "dead", "error", "denied", "refused", "down", "danger", "broken"],
};
/** @type {Record<string, string>} */
const NAMES = {
  model_running: "thinking",
  tool_running: "using a tool",
  awaiting_human: "waiting for a person",
  completed: "succeeded",
  aborted: "cancelled",
};

/** What state something is in, as a word with a colour. @param {{ state: string }} props */
export function State({ state }) {
  const word = String(state).split(/[ :,]/)[0].toLowerCase();
  const tone = Object.keys(TONES).find((name) => TONES[name].includes(word)) ?? "plain";
  return html`<span class=${`state ${tone}`}>${t(NAMES[state] ?? state)}</span>`;
}

/** The most rows that the gateway gives at once. */
const MOST = 1_000;

/**
 * How many rows of a list are asked for, and what stands below those where there are more.
 * @param {number} first
 */
export function useMore(first) {
  const [limit, setLimit] = useState(first);
  /** @param {unknown[]} list */
  const below = (list) =>
    list.length < limit ? null : html`
      <p class="older">
        ${limit < MOST ? html`
          <${Button} onClick=${() => setLimit(Math.min(limit * 2, MOST))}>${t("Show more")}<//>
        ` : (
          t("Only {n} are shown.", { n: MOST.toLocaleString(language.value) })
        )}
      </p>
    `;
  return { limit, below };
}
