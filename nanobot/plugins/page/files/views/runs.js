/** What the assistant did and does: all runs, and one of them step by step. */

import { change, may, read } from "../api.js";
import { duration, short } from "../format.js";
import { t } from "../i18n.js";
import { html, useState } from "../lib.js";
import { changed } from "../live.js";
import { Button, Choice, Empty, Fetched, Unreadable, useFetched, When } from "../parts/basics.js";
import { Head, State, useMore } from "../parts/list.js";
import { Off } from "../parts/off.js";
import { go, link } from "../router.js";
import { Now } from "./runs/now.js";
import { Run } from "./runs/run.js";

/**
 * @typedef {import("../gateway.js").RunView} RunView
 * @typedef {import("../gateway.js").Reads["runs list"]["takes"]} Wanted
 */

/** @type {[NonNullable<Wanted["state"]>, string][]} */
const STATES = [
  ["", "All"],
  ["live", "Running"],
  ["waiting", "Waiting"],
  ["failed", "Failed"],
  ["succeeded", "Succeeded"],
];
const NOW = "now";
const LIVE = ["queued", "preparing", "model_running", "tool_running", "awaiting_human"];

/** @param {{ state: string }} run */
export const alive = (run) => LIVE.includes(run.state);

/**
 * How long it took, or has taken so far.
 * @param {{ created_at: number, ended_at: number | null }} run
 */
export const lasted = (run) => (run.ended_at ?? Date.now() / 1_000) - run.created_at;

/** @param {{ run: RunView, again: () => void }} props */
function Row({ run, again }) {
  const { usage } = run;
  return html`
    <tr>
      <td>
        <${State} state=${run.state} />
      </td>
      <td class="wide">
        <a href=${link("runs", run.id)}>${run.about || run.session_key}</a>
        ${run.error && html`<small class="reason">${run.error}</small>`}
      </td>
      <td>${t(run.kind === "task" ? "background" : run.origin)}</td>
      <td>
        <${When} at=${run.created_at} />
      </td>
      <td class="number">${duration(lasted(run) * 1_000)}</td>
      <td class="number">
        ${usage?.prompt_tokens ? short(usage.prompt_tokens + usage.completion_tokens) : ""}
      </td>
      <td class="number">
        ${alive(run) && may("runs cancel") && html`
          <${Button}
            kind="small"
            onClick=${async () => (await change("runs cancel", { id: run.id }), await again())}
          >
            ${t("Cancel")}
          <//>
        `}
      </td>
    </tr>
  `;
}

/** All runs, or what happens now. @param {{ value: string }} props */
const Which = ({ value }) => html`
  <div class="tabs">
    <${Choice}
      label=${t("Runs")}
      value=${value}
      options=${[
        ["", t("All runs")],
        [NOW, t("Now")],
      ]}
      onChange=${(what) => go("runs", what)}
    />
  </div>
`;

function List() {
  const [state, setState] = useState(STATES[0][0]);
  const [kind, setKind] = useState(/** @type {NonNullable<Wanted["kind"]>} */ (""));
  const { limit, below } = useMore(50);
  const runs = useFetched(
    (signal) => read("runs list", { state, kind, limit }, { signal }),
    [state, kind, limit, changed.value],
    5_000,
  );
  return html`
    <div class="view">
      <${Head}
        title=${t("Runs")}
        about=${t("Each answer and each background task is a run. Everything it did is kept.")}
      >
        <${Choice}
          label=${t("State")}
          value=${state}
          options=${STATES.map(([key, name]) => /** @type {const} */ ([key, t(name)]))}
          onChange=${setState}
        />
        <${Choice}
          label=${t("Kind")}
          value=${kind}
          options=${[
            ["", t("Any")],
            ["chat", t("Answers")],
            ["task", t("Background")],
          ]}
          onChange=${setKind}
        />
      <//>
      ${may("runs now") && html`<${Which} value="" />`}
      <${Fetched} of=${runs}>
        ${(list) =>
          list.length ? html`
            <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Runs")}>
              <table class="table">
                <thead>
                  <tr>
                    <th>${t("State")}</th>
                    <th>${t("What")}</th>
                    <th>${t("From")}</th>
                    <th>${t("Begun")}</th>
                    <th class="number">${t("Took")}</th>
                    <th class="number">${t("Tokens")}</th>
                    <th>
                      <span class="hidden">${t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  ${list.map((run) => html`
                    <${Row} key=${run.id} run=${run} again=${runs.again} />
                  `)}
                </tbody>
              </table>
            </div>
            ${below(list)}
          ` : html`
            <${Empty} icon="runs" title=${t("Nothing here")}>
              ${t("No run is in this state.")}
            <//>
          `
        }
      <//>
      <${Unreadable} of="runs list" />
    </div>
  `;
}

/** @param {{ what: string }} props */
export default function Runs({ what }) {
  if (!may("runs list")) {
    return html`
      <div class="view">
        <${Head} title=${t("Runs")} />
        <${Off} plugin="runs" />
      </div>
    `;
  }
  if (what === NOW && may("runs now")) {
    return html`
      <div class="view">
        <${Head} title=${t("Runs")} about=${t("What happens at this moment. It renews itself.")} />
        <${Which} value=${NOW} />
        <${Now} />
      </div>
    `;
  }
  return what ? html`<${Run} key=${what} id=${what} />` : html`<${List} />`;
}
