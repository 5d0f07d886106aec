/** Skills, servers and what else plugins add; all tools. */

import { may, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html } from "../../lib.js";
import { Added } from "../../parts/added.js";
import { Fetched, useFetched } from "../../parts/basics.js";
import { Off } from "../../parts/off.js";

function ToolList() {
  const tools = useFetched((signal) => read("tools list", {}, { signal }), []);
  return html`
    <section>
      <h2>${t("Tools")}</h2>
      <${Fetched} of=${tools}>
        ${(list) => html`
          <ul class="card flush findings">
            ${list.map((tool) => html`
              <li key=${tool.name}>
                <b>${tool.name}</b>
                <span>${tool.description.split("\n")[0]}</span>
                <small>${t(tool.source)}</small>
                <small>${tool.roles.map((role) => t(role)).join(", ")}</small>
              </li>
            `)}
          </ul>
        `}
      <//>
    </section>
  `;
}

export const Skills = () => html`
  <${Added} place="skills" />
  ${may("tools list") ? html`<${ToolList} />` : html`<${Off} plugin="context" />`}
`;
