/** Skills, switched on and off; what plugins add; all tools. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Added } from "../../parts/added.js";
import { Dialog, Fetched, State, Switch, useFetched } from "../../parts/basics.js";
import { Markdown } from "../../parts/markdown.js";

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
  <${Added} place="skills" />
  <${ToolList} />
`;
