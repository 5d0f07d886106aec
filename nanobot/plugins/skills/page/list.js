/** Skills, switched on and off, in Settings. */

import {
  change,
  Dialog,
  Fetched,
  html,
  Markdown,
  read,
  State,
  Switch,
  t,
  useFetched,
  useState,
} from "../../kit.js";

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

export default function SkillList() {
  const skills = useFetched((signal) => read("skills list", {}, { signal }), []);
  const [open, setOpen] = useState("");
  const turn = async (/** @type {import("../../gateway.js").SkillView} */ skill) => {
    await change(skill.state === "disabled" ? "skills enable" : "skills disable", {
      name: skill.name,
    });
    await skills.again();
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
