/** Evals: cases with their last results, and rejected answers to make cases of. */

import {
  Button,
  change,
  duration,
  Empty,
  Fetched,
  Head,
  html,
  money,
  read,
  t,
  tell,
  useFetched,
  useState,
} from "../../kit.js";

/**
 * @typedef {import("../../gateway.js").Evaluation} Evaluation
 * @typedef {import("../../gateway.js").CaseView} CaseView
 * @typedef {import("../../gateway.js").RejectedView} RejectedView
 */

/** @param {string} state */
const mark = (state) => (state === "passed" ? "✓" : state === "failed" ? "✗" : "–");

/** @param {{ evaluation: Evaluation }} props */
const Results = ({ evaluation }) => html`
  <h2>${t("Last results")}</h2>
  <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Last results")}>
    <table class="table" data-evals="results">
      <thead>
        <tr>
          <th>${t("Case")}</th>
          <th>${t("Model")}</th>
          <th>${t("Passed")}</th>
          <th class="number">${t("Cost")}</th>
          <th class="number">${t("Time")}</th>
          <th>${t("Why")}</th>
        </tr>
      </thead>
      <tbody>
        ${evaluation.results.map((result) => html`
          <tr>
            <td>${result.case}</td>
            <td>${result.model}</td>
            <td>
              ${mark(result.state)} ${result.passed}/${result.runs}
            </td>
            <td class="number">${money(result.cost)}</td>
            <td class="number">${duration(result.seconds * 1_000)}</td>
            <td class="text">${result.why}</td>
          </tr>
        `)}
      </tbody>
    </table>
  </div>
  ${evaluation.stopped && html`<p>${evaluation.stopped}</p>`}
`;

/** @param {{ cases: CaseView[] }} props */
const Cases = ({ cases }) => html`
  <h2>${t("Cases")}</h2>
  <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Cases")}>
    <table class="table" data-evals="cases">
      <tbody>
        ${cases.map((each) => html`
          <tr>
            <td>${each.name}</td>
            <td class="text">${each.checks.join("; ")}</td>
            <td>
              ${Object.entries(each.last).map(([model, state]) => html`
                <div>
                  ${mark(state)} ${model}
                </div>
              `)}
            </td>
          </tr>
        `)}
      </tbody>
    </table>
  </div>
`;

/** @param {{ answers: RejectedView[], again: () => void }} props */
const Rejected = ({ answers, again }) => html`
  <h2>${t("Rejected answers")}</h2>
  <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Rejected answers")}>
    <table class="table" data-evals="rejected">
      <tbody>
        ${answers.map((each) => html`
          <tr>
            <td>
              <code>${each.run_id}</code>
            </td>
            <td class="text">${each.text}</td>
            <td>
              ${each.case ? (
                each.case
              ) : html`
                <${Button}
                  onClick=${async () => {
                    const { file } = await change("evals add", { run: each.run_id });
                    tell(t("The test case is in {file}", { file }));
                    again();
                  }}
                >
                  ${t("Make a case of this answer")}
                <//>
              `}
            </td>
          </tr>
        `)}
      </tbody>
    </table>
  </div>
`;

export default () => {
  const [count, setCount] = useState(0);
  const cases = useFetched(() => read("evals list", {}), [count]);
  const last = useFetched(() => read("evals show", {}), [count]);
  const rejected = useFetched(() => read("evals rejected", {}), [count]);
  const again = () => setCount((value) => value + 1);
  const run = async () => {
    try {
      await change("evals run", {});
    } finally {
      again();
    }
  };
  return html`
    <div class="view">
      <${Head} title=${t("Evals")} about=${t("Regression tests of answers.")}>
        <${Button} icon="play" onClick=${run}>
          ${t("Run now")}
        <//>
      <//>
      <${Fetched} of=${cases}>
        ${(found) =>
          found.length ? html`<${Cases} cases=${found} />` : html`
            <${Empty} title=${t("No cases yet")}>
              ${t("Make one of a rejected answer below, or run: nanobot evals add RUN")}
            <//>
          `
        }
      <//>
      <${Fetched} of=${last}>
        ${(found) => (found.length ? html`<${Results} evaluation=${found[0]} />` : null)}
      <//>
      <${Fetched} of=${rejected}>
        ${(found) => (found.length ? html`<${Rejected} answers=${found} again=${again} />` : null)}
      <//>
    </div>
  `;
};
