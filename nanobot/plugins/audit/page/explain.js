/** Which rule decides whether a call is made: asked of the policy itself. */

import { Button, Field, html, read, t, useFetched, useState, valueOf } from "../../kit.js";

/**
 * @typedef {import("../../gateway.js").PolicyExplanation} Explanation
 * @typedef {import("../../parts/dialog.js").FormEvent} FormEvent
 */

/** @type {import("../../gateway.js").Role[]} */
const ROLES = ["owner", "member", "guest"];

/** A verdict in words. @type {Record<Explanation["verdict"], () => string>} */
const VERDICTS = {
  allow: () => t("It is done"),
  ask: () => t("A person is asked"),
  deny: () => t("It is denied"),
};

/** The arguments of a call, each with its name. @param {string} text */
function named(text) {
  try {
    return Object.entries(JSON.parse(text))
      .map(
        ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
      )
      .join(", ");
  } catch {
    return text;
  }
}

/** @type {[() => string, (told: Explanation) => string][]} */
const FACTS = [
  [() => t("Tool"), ({ tool }) => tool],
  [() => t("Its arguments"), (told) => named(told.arguments)],
  [() => t("Verdict"), ({ verdict }) => VERDICTS[verdict]()],
  [() => t("Rule"), ({ rule }) => rule],
  [() => t("Because"), ({ because }) => because],
];

export default function Explain() {
  const [values, setValues] = useState({ tool: "exec", text: "", role: ROLES[0], tainted: false });
  const [told, setTold] = useState(/** @type {Explanation | null} */ (null));
  const put = (/** @type {keyof typeof values} */ name) => (/** @type {FormEvent} */ event) =>
    setValues({ ...values, [name]: valueOf(event) });
  const tools = useFetched((signal) => read("tools list", {}, { signal }), []);
  const ask = async () => setTold(await read("policy explain", values));
  return html`
    <section>
      <h2>${t("Which rule decides?")}</h2>
      <form class="card stacked">
        <div class="two">
          <${Field} name=${t("Tool")}>
            <select value=${values.tool} onChange=${put("tool")}>
              ${(tools.value ?? [{ name: "exec" }]).map(({ name }) => html`
                <option value=${name}>${name}</option>
              `)}
            </select>
          <//>
          <${Field} name=${t("Its arguments")} about=${t("A command, a path, or JSON")}>
            <input type="text" value=${values.text} onInput=${put("text")} />
          <//>
          <${Field} name=${t("For a run of")}>
            <select value=${values.role} onChange=${put("role")}>
              ${ROLES.map((role) => html`<option value=${role}>${t(role)}</option>`)}
            </select>
          <//>
          <label class="check">
            <input type="checkbox" checked=${values.tainted} onChange=${put("tainted")} />${" "}
            ${t("It has seen something from outside")}
          </label>
        </div>
        <div class="row end">
          <${Button} kind="main" type="submit" onClick=${ask}>
            ${t("Ask the policy")}
          <//>
        </div>
        ${told && html`
          <dl class="facts" aria-live="polite">
            ${FACTS.map(([name, of]) => [name(), of(told)])
              .filter(([, value]) => value)
              .map(([name, value]) => html`
                <div>
                  <dt>${name}</dt>
                  <dd>${value}</dd>
                </div>
              `)}
          </dl>
        `}
      </form>
    </section>
  `;
}
