/** Texts for other windows. Without HTTPS the browser has no clipboard for pages. */

import { Told } from "../api.js";
import { t } from "../i18n.js";
import { tell } from "./notices.js";

/** As browsers did before: what is selected is copied. @param {string} text */
function selected(text) {
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  // Nothing outside an open dialog can be selected.
  ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  return done;
}

/** @param {string} text */
export async function copy(text) {
  const written = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (!written && !selected(text))
    throw new Told(t("This browser does not let pages copy. Select the text instead."));
  tell(t("Copied"));
}
