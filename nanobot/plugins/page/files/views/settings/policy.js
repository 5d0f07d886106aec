/** The calls that are allowed permanently, and what plugins show of the policy. */

import { change, may, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../lib.js";
import { changed } from "../../live.js";
import { Added } from "../../parts/added.js";
import { Button, Fetched, Unreadable, useFetched, When } from "../../parts/basics.js";
import { Off } from "../../parts/off.js";

export function Policy() {
  return html`
    ${may("policy forget") ? html`<${Permissions} />` : html`<${Off} plugin="approvals" />`}
    <${Added} place="policy" />
  `;
}

function Permissions() {
  const rules = useFetched((signal) => read("policy rules", {}, { signal }), [changed.value]);
  const forget = (/** @type {number} */ id) => async () => (
    await change("policy forget", { id }),
    rules.again()
  );
  return html`
    <section>
      <h2>${t("Allowed permanently")}</h2>
      <${Fetched} of=${rules} rows=${2}>
        ${(list) =>
          list.length ? html`
            <ul class="card flush findings">
              ${list.map((rule) => html`
                <li key=${rule.id}>
                  <b>${rule.tool}</b>
                  <span>
                    <code>${rule.subject}</code>
                    <small>
                      ${rule.session_key} · ${rule.by} · <${When} at=${rule.created_at} />
                      ${rule.tainted && html` · ${t("also with content from outside")}`}
                    </small>
                  </span>
                  <${Button} kind="small" onClick=${forget(rule.id)}>
                    ${t("Take it back")}
                  <//>
                </li>
              `)}
            </ul>
          ` : html`<p class="soft">${t("Nothing: each such call is asked about.")}</p>`
        }
      <//>
      <${Unreadable} of="policy rules" />
    </section>
  `;
}
