/** Short notices at the edge of the page, read out by screen readers. */

import { html, signal } from "../lib.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

/**
 * @type {import("../vendor/signals-core.js").Signal<{ id: number, text: string, tone: string }[]>}
 */
const shown = signal([]);
let last = 0;

/** @param {number} id */
const drop = (id) => {
  shown.value = shown.value.filter((notice) => notice.id !== id);
};

/**
 * Show a notice. One that says the same is there already takes its place.
 * @param {string} text @param {"good" | "bad"} [tone]
 */
export function tell(text, tone = "good") {
  const id = ++last;
  const others = shown.value.filter((notice) => notice.text !== text || notice.tone !== tone);
  shown.value = [...others.slice(-3), { id, text, tone }];
  setTimeout(() => drop(id), tone === "bad" ? 12_000 : 4_000);
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
