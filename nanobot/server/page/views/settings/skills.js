/** Skills and MCP servers, switched on and off; all tools. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Dialog, Fetched, State, Unreadable, useFetched } from "../../parts/basics.js";
import { Markdown } from "../../parts/markdown.js";
import { tell } from "../../parts/notices.js";

/** @param {{ on: boolean, label: string, onChange: (on: boolean) => unknown }} props */
function Switch({ on, label, onChange }) {
  return html`
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked=${on}
      aria-label=${label}
      onClick=${() => onChange(!on)}
    >
      <i></i>
    </button>
  `;
}

/** @param {{ name: string, onClose: () => void }} props */
function Skill({ name, onClose }) {
  const skill = useFetched((signal) => read("skills show", { name }, { signal }), [name]);
  return html`
    <${Dialog} title=${name} onClose=${onClose} wide>
      <${Fetched} of=${skill}>
        ${(value) => html`
          <p class="soft">${value.path}</p>
          <${Markdown} text=${value.text} />
        `}
      <//>
    <//>
  `;
}

function SkillList() {
  const skills = useFetched((signal) => read("skills list", {}, { signal }), []);
  const [open, setOpen] = useState("");
  const turn = async (/** @type {import("../../gateway.js").SkillView} */ skill) => {
    await change(skill.state === "disabled" ? "skills enable" : "skills disable", {
      name: skill.name,
    });
    skills.again();
  };
  return html`
    <section>
      <h2>${t("Skills")}</h2>
      <${Fetched} of=${skills}>
        ${(list) => html`
          <ul class="card flush findings">
            ${list.map((skill) => html`
              <li key=${skill.name}>
                <${Switch}
                  on=${skill.state !== "disabled"}
                  label=${t("Use {name}", { name: skill.name })}
                  onChange=${() => turn(skill)}
                />
                <b>
                  <button type="button" class="linklike" onClick=${() => setOpen(skill.name)}>
                    ${skill.name}
                  </button>
                </b>
                <span>
                  ${skill.description}
                  ${skill.why && html`<small>${skill.why}</small>`}
                </span>
                <${State} state=${skill.state === "ready" ? "ok" : skill.state} />
              </li>
            `)}
          </ul>
        `}
      <//>
      ${open && html`<${Skill} name=${open} onClose=${() => setOpen("")} />`}
    </section>
  `;
}

function ServerList() {
  const servers = useFetched((signal) => read("mcp list", {}, { signal }), []);
  const turn = async (/** @type {import("../../gateway.js").ServerView} */ server) => {
    await change(server.state === "disabled" ? "mcp enable" : "mcp disable", { name: server.name });
    tell(t("It holds from the next start on."));
    servers.again();
  };
  return html`
    <section>
      <h2>${t("MCP servers")}</h2>
      <${Fetched} of=${servers} rows=${2}>
        ${(list) =>
          list.length ? html`
            <ul class="card flush findings">
              ${list.map((server) => html`
                <li key=${server.name}>
                  <${Switch}
                    on=${server.state !== "disabled"}
                    label=${t("Use {name}", { name: server.name })}
                    onChange=${() => turn(server)}
                  />
                  <b>${server.name}</b>
                  <span>
                    ${server.where}
                    ${server.error && html`<small class="bad">${server.error}</small>`}
                  </span>
                  <small>${t("{n} tools", { n: server.tools })}</small>
                  <${State} state=${server.state} />
                </li>
              `)}
            </ul>
          ` : html`<p class="soft">${t("None is configured: nanobot mcp add connects one.")}</p>`
        }
      <//>
      <${Unreadable} of="mcp list" />
    </section>
  `;
}

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
                <small>${tool.source}</small>
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
  <${SkillList} />
  <${ServerList} />
  <${ToolList} />
`;
