/** Small parts that every view is made of. */

import { access, known, outdated, unreadable } from "../api.js";
import { ago, dated, moment } from "../format.js";
import { t } from "../i18n.js";
import { html, useEffect, useState } from "../lib.js";
import { complain, said } from "./button.js";
import { Refused } from "./fetched.js";
import { Icon } from "./icons.js";

export { Button, complain, said } from "./button.js";
export { Fetched, Loading, Safe, useFetched } from "./fetched.js";

/** @typedef {import("../vendor/preact.js").ComponentChildren} Children */

/**
 * A time: how long ago, with the exact one on hovering.
 * @param {{ at: number | null | undefined }} props
 */
export function When({ at }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((value) => value + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null || at === undefined) return null;
  return html`
    <time datetime=${dated(at)?.toISOString()} title=${moment(at)}>
      ${ago(at)}
    </time>
  `;
}

/**
 * What stands where there is nothing.
 * @param {{ icon?: string, title: string, children?: Children }} props
 */
export const Empty = ({ icon = "info", title, children }) => html`
  <div class="empty">
    <${Icon} name=${icon} size=${28} />
    <h2>${title}</h2>
    <p>${children}</p>
  </div>
`;

/**
 * A part of the page itself did not come. Browsers keep that it did not until the page is loaded
 * anew, which is for when somebody answers.
 * @param {{ error: unknown }} props
 */
export function Missing({ error }) {
  const again = async () => {
    await known();
    if (access.value !== "away") location.reload();
  };
  const [why, name] = outdated.value
    ? [t("nanobot was renewed; this page is of the version before."), t("Reload")]
    : [access.value === "away" ? t("The gateway does not answer.") : said(error), t("Try again")];
  return html`<${Refused} why=${why} again=${again} name=${name} />`;
}

/**
 * A switch between a few ways to look at something.
 * @template {string} T
 * @param {{
 *   value: T, options: (readonly [T, string])[], onChange: (value: T) => void, label: string,
 * }} props
 */
export const Choice = ({ value, options, onChange, label }) => html`
  <div class="choice" role="group" aria-label=${label}>
    ${options.map(([key, text]) => html`
      <button type="button" aria-pressed=${value === key} onClick=${() => onChange(key)}>
        ${text}
      </button>
    `)}
  </div>
`;

/**
 * What stands below a list: its rows that the gateway could not read.
 * @param {{ of: keyof import("../gateway.js").Reads }} props the list, as in "runs list"
 */
export function Unreadable({ of }) {
  const [file, setFile] = useState(/** @type {typeof import("./unreadable.js") | null} */ (null));
  const count = unreadable.value[of];
  useEffect(() => {
    if (count) import("./unreadable.js").then(setFile, complain);
  }, [count]);
  const Rows = file?.Rows;
  return Rows && count ? html`<${Rows} of=${of} count=${count} />` : null;
}
