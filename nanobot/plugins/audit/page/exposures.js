/** What attackers of each kind could reach, and how to prevent it. */

import { Fetched, html, read, State, t, useFetched } from "../../kit.js";

export default function Exposures() {
  const audit = useFetched((signal) => read("security audit", {}, { signal }), []);
  return html`
    <section>
      <h2>${t("What attackers could reach")}</h2>
      <${Fetched} of=${audit}>
        ${(list) => html`
          <ul class="card flush findings">
            ${list.map((row) => html`
              <li>
                <${State} state=${row.level === "note" ? "intended" : row.level} />
                <b>${t(row.attacker)}</b>
                <span>
                  ${row.reaches}
                  ${row.remedy && html`<small>${row.remedy}</small>`}
                </span>
              </li>
            `)}
          </ul>
        `}
      <//>
    </section>
  `;
}
