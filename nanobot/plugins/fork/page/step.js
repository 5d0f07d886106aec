/** Beside each step of a run: a form that forks the run there. */

import {
  Button,
  change,
  Dialog,
  Field,
  go,
  html,
  me,
  t,
  tell,
  useState,
  valueOf,
} from "../../kit.js";

const CUTS = ["user", "recall", "reply", "tool_result", "post", "summary"];

/**
 * @typedef {import("../../gateway.js").RunView} Run
 * @typedef {import("../../gateway.js").EntryView} Entry
 * @typedef {import("../../gateway.js").Changes["runs fork"]["takes"]} Wanted
 */

/** @type {[NonNullable<Wanted["otherwise"]>, () => string][]} */
const OTHERWISE = [
  ["copy", () => t("Files and commands in a copy of the workspace; nothing else")],
  ["ask", () => t("As above; other calls ask a person first")],
  ["refuse", () => t("Nothing: every new call is refused")],
];

/** @param {{ run: Run, entry: Entry, close: () => void }} props */
const Form = ({ run, entry, close }) => {
  const [form, setForm] = useState({ model: "", system: "", say: "", otherwise: OTHERWISE[0][0] });
  const [tool, setTool] = useState({ name: "", result: "" });
  const allowed = me.value?.operations?.["runs fork"] ?? [];
  const set =
    (/** @type {string} */ name) => (/** @type {Parameters<typeof valueOf>[0]} */ event) =>
      setForm({ ...form, [name]: valueOf(event) });
  const submit = async () => {
    const given = tool.name.trim() ? { [tool.name.trim()]: tool.result } : null;
    /** @type {Wanted} */
    const wanted = { id: run.id, at: entry.seq, otherwise: form.otherwise, say: form.say };
    if (form.model) wanted.model = form.model;
    if (form.system) wanted.system = form.system;
    if (given) wanted.tool = JSON.stringify(given);
    const fork = await change("runs fork", wanted);
    for (const note of fork.notes) tell(note);
    close();
    go("runs", fork.run);
  };
  return html`
    <form class="stacked" data-fork="form">
      <p>
        ${t("The fork shares the log up to entry {n} and has no effects outside of it.", {
          n: entry.seq,
        })}
      </p>
      ${allowed.includes("model") && html`
        <${Field} name=${t("Model")} about=${t("PROVIDER/MODEL; empty: the same model")}>
          <input name="model" value=${form.model} onInput=${set("model")} />
        <//>
      `}
      ${allowed.includes("system") && html`
        <${Field} name=${t("System prompt")} about=${t("Empty: the same prompt")}>
          <textarea
            name="system"
            rows=${3}
            value=${form.system}
            onInput=${set("system")}
          ></textarea>
        <//>
      `}
      <${Field} name=${t("Say")} about=${t("A message to add there")}>
        <textarea name="say" rows=${2} value=${form.say} onInput=${set("say")}></textarea>
      <//>
      <${Field} name=${t("Tool")} about=${t("A tool that gets the result below")}>
        <input
          name="tool"
          value=${tool.name}
          onInput=${(event) => setTool({ ...tool, name: String(valueOf(event)) })}
        />
      <//>
      <${Field} name=${t("Result")}>
        <textarea
          name="result"
          rows=${2}
          value=${tool.result}
          onInput=${(event) => setTool({ ...tool, result: String(valueOf(event)) })}
        ></textarea>
      <//>
      <${Field} name=${t("New calls of tools")}>
        <select name="otherwise" value=${form.otherwise} onChange=${set("otherwise")}>
          ${OTHERWISE.map(([value, text]) => html`<option value=${value}>${text()}</option>`)}
        </select>
      <//>
      <p class="row">
        <${Button} kind="main" type="submit" onClick=${submit}>
          ${t("Fork")}
        <//>
      </p>
    </form>
  `;
};

/** @param {{ run: Run, entry: Entry }} props */
export default ({ run, entry }) => {
  const [open, setOpen] = useState(false);
  if (!CUTS.includes(entry.kind) || run.usage?.model_calls === 0) return null;
  const close = () => setOpen(false);
  return html`
    <span data-fork="here">
      <${Button}
        kind="bare"
        label=${t("Fork from entry {n}", { n: entry.seq })}
        onClick=${() => setOpen(true)}
      >
        ${t("Fork from here")}
      <//>
      ${open && html`
        <${Dialog} title=${t("Fork from here")} onClose=${close}>
          <${Form} run=${run} entry=${entry} close=${close} />
        <//>
      `}
    </span>
  `;
};
