/** What a list cannot show: rows that the gateway could not read, and the way to put them back. */

import { may, read } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { link } from "../router.js";
import { useFetched } from "./basics.js";

const MOST = 5;

/** @typedef {import("../gateway.js").Quarantined} Quarantined */

/** Which row it is, and why it cannot be read. @param {{ row: Quarantined }} props */
export const Named = ({ row }) => html`
  <span>
    ${row.table} ${row.key}
    <small>
      ${row.column}: ${row.reason}
    </small>
  </span>
`;

/**
 * So many rows of a list, of which the latest are named.
 * @param {{ of: keyof import("../gateway.js").Reads, count: number }} props
 */
export function Rows({ of, count }) {
  const rows = useFetched(
    async (signal) =>
      may("quarantine list") ? read("quarantine list", { of, limit: MOST }, { signal }) : [],
    [of, count],
  );
  return html`
    <div class="card flush" role="note">
      <ul class="findings">
        <li class="bad">
          <span>
            ${t("Rows that could not be read")}: ${count}
          </span>
          ${may("quarantine restore") && html`
            <a href=${link("settings", "health")}>${t("Show or put back")}</a>
          `}
        </li>
        ${(rows.value ?? []).map((row) => html`
          <li key=${row.id}>
            <${Named} row=${row} />
          </li>
        `)}
      </ul>
    </div>
  `;
}
