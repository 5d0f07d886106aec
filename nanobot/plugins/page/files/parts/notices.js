/** Short notices at the edge of the page, read out by screen readers. */

import { html, signal } from "../lib.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

/**
 * @type {import("../vendor/signals-core.js").Signal<{ id: number, text: string, tone: string }[]>}
 */
const shown = signal([]);
let last = 0;
/** So long a notice stays when nobody points at it any more. */
const LINGER_MS = 1_500;

/** @param {number} id */
const drop = (id) => {
  shown.value = shown.value.filter((notice) => notice.id !== id);
};

/** Whether somebody reads them, or is about to press something in one. */
const looked = () => document.querySelector(".notices:is(:hover, :focus-within)") !== null;

/** @param {number} id @param {number} after_ms */
function close(id, after_ms) {
  setTimeout(() => (looked() ? close(id, LINGER_MS) : drop(id)), after_ms);
}

/**
 * Show a notice, until it is closed or its time is over while nobody points at one. It takes the
 * place of one that says the same.
 * @param {string} text @param {"good" | "bad"} [tone]
 */
export function tell(text, tone = "good") {
  const id = ++last;
  const others = shown.value.filter((notice) => notice.text !== text || notice.tone !== tone);
  shown.value = [...others.slice(-3), { id, text, tone }];
  close(id, tone === "bad" ? 12_000 : 4_000);
}

/** How many dialogs are open: nothing below the last one can be pressed or is read out. */
export const above = signal(0);

/** Of the page, or of the dialog that is so far above it. @param {{ depth?: number }} props */
export const Notices = ({ depth = 0 }) => html`
  <div class="notices" role="status" aria-live="polite">
    ${depth === above.value &&
      shown.value.map(({ id, text, tone }) => html`
        <div key=${id} class=${`notice ${tone}`}>
          <${Icon} name=${tone === "bad" ? "warning" : "check"} />
          <span>${text}</span>
          <button type="button" aria-label=${t("Close")} onClick=${() => drop(id)}>
            <${Icon} name="close" size=${14} />
          </button>
        </div>
      `)}
  </div>
`;
