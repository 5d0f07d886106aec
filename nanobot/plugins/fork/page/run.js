/** In the view of a fork's run: the run that it comes from and the fork, side by side. */

import {
  Button,
  changed,
  count,
  duration,
  Fetched,
  html,
  link,
  money,
  read,
  State,
  t,
  useFetched,
  useState,
} from "../../kit.js";

/**
 * @typedef {import("../../gateway.js").SideView} Side
 * @typedef {import("../../gateway.js").StepPair} Pair
 */

/** @param {number | null} cost */
const dollars = (cost) => (cost === null || cost === undefined ? t("unknown") : money(cost));

/** @type {[() => string, (side: Side) => string][]} */
const FIGURES = [
  [() => t("Model"), (side) => side.models.join(", ")],
  [() => t("Model calls"), (side) => count(side.model_calls)],
  [() => t("Tool calls"), (side) => count(side.tool_calls)],
  [() => t("Tokens"), (side) => count(side.tokens)],
  [() => t("Cost"), (side) => dollars(side.cost)],
  [() => t("Time"), (side) => duration(side.seconds * 1_000)],
];

/** @param {{ a: Side, b: Side }} props */
const Figures = ({ a, b }) => html`
  <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Fork")}>
    <table class="table" data-fork="figures">
      <thead>
        <tr>
          <td></td>
          <th>
            <a href=${link("runs", a.run)}>${t("Run it comes from")}</a>
          </th>
          <th>${t("Fork")}</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th>${t("State")}</th>
          <td>
            <${State} state=${a.state} />
          </td>
          <td>
            <${State} state=${b.state} />
          </td>
        </tr>
        ${FIGURES.map(([name, of]) => html`
          <tr>
            <th>${name()}</th>
            <td>${of(a)}</td>
            <td>${of(b)}</td>
          </tr>
        `)}
      </tbody>
    </table>
  </div>
`;

/** @type {Record<string, () => string>} */
const KINDS = {
  message: () => t("Message"),
  call: () => t("Tool"),
  answer: () => t("Answer"),
  note: () => t("Note"),
  erased: () => t("erased"),
};

/** @param {{ step: Pair["a"], side: string }} props */
const Step = ({ step, side }) =>
  step ? html`
    <section class="card" aria-label=${side}>
      <b>${KINDS[step.kind]()}</b> ${step.name}
      ${step.arguments && html`<pre tabindex=${0}>${step.arguments}</pre>`}
      <pre tabindex=${0}>${step.text}</pre>
    </section>
  ` : html`
    <section class="card" aria-label=${side}>
      ${t("no such step")}
    </section>
  `;

/** @param {{ steps: Pair[] }} props */
const Steps = ({ steps }) => {
  const [all, setAll] = useState(false);
  const shown = all ? steps : steps.filter((pair) => !pair.same);
  const equal = steps.length - steps.filter((pair) => !pair.same).length;
  return html`
    <p>
      ${t("{n} steps are equal, {m} differ.", { n: equal, m: steps.length - equal })}${" "}
      ${equal > 0 && html`
        <${Button} kind="bare" onClick=${() => setAll(!all)}>
          ${all ? t("Show differences only") : t("Show all steps")}
        <//>
      `}
    </p>
    <ol class="sides" data-fork="steps">
      ${shown.map((pair) => html`
        <li class=${pair.same ? "same" : "differs"}>
          <${Step} step=${pair.a} side=${t("Run it comes from")} />
          <${Step} step=${pair.b} side=${t("Fork")} />
        </li>
      `)}
    </ol>
  `;
};

/** @param {{ fork: string, parent: string }} props */
const Both = ({ fork, parent }) => {
  const both = useFetched(
    (signal) => read("runs compare", { id: parent, other: fork }, { signal }),
    [fork, parent, changed.value],
  );
  return html`
    <section aria-label=${t("Both runs side by side")} data-fork="both">
      <h2>${t("Both runs side by side")}</h2>
      <${Fetched} of=${both}>
        ${({ a, b, steps, same_answer }) => html`
          <${Figures} a=${a} b=${b} />
          ${same_answer && a.answer && html`<p>${t("Both give the same answer.")}</p>`}
          <${Steps} steps=${steps} />
        `}
      <//>
    </section>
  `;
};

/** @param {{ run: import("../../gateway.js").RunView }} props */
export default ({ run }) =>
  run.parent && run.session_key.startsWith("fork:") ? html`
    <${Both} fork=${run.id} parent=${run.parent} />
  ` : null;
