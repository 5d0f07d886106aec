/** What happens at this moment: live runs, queues, channels, speed and cost. */

import { me, read } from "../../api.js";
import { count, duration, money } from "../../format.js";
import { t } from "../../i18n.js";
import { html } from "../../lib.js";
import { changed } from "../../live.js";
import { Empty, Fetched, useFetched } from "../../parts/basics.js";
import { State } from "../../parts/list.js";
import { link } from "../../router.js";
import { KINDS } from "./run.js";

const EVERY_MS = 2_000;
const SLOW_SECONDS = 30;
const SLOW_MS = 100;
const MOST = 100;

/**
 * @typedef {import("../../gateway.js").Moment} Moment
 * @typedef {import("../../gateway.js").LiveRun} LiveRun
 */

/** @param {number} seconds */
const took = (seconds) => duration(Math.round(seconds * 10) * 100);

/** @param {number | null | undefined} seconds */
const oldest = (seconds) =>
  typeof seconds === "number" ? t("the oldest for {time}", { time: took(seconds) }) : "";

/**
 * How a value of which there can be too much looks. @param {number} value @param {number} slow
 */
const tone = (value, slow) => (value >= 10 * slow ? "bad" : value >= slow ? "wait" : "");

/** @param {{ name: string, value: string, more?: string, look?: string }} props */
const Tile = ({ name, value, more = "", look = "" }) => html`
  <div class="card tile">
    <span>${name}</span>
    <b>${value}</b>
    <small class=${look && `state ${look}`}>${more}</small>
  </div>
`;

/** What concerns everybody: for owners. @param {{ moment: Moment }} props */
function Figures({ moment }) {
  const { driving = 0, sessions = 0, waiting = 0, owed = 0, dead = 0 } = moment;
  const { oldest_waiting, oldest_owed, loop_lag_ms = 0, store_ms = 0, store_queue = 0 } = moment;
  return html`
    <div class="tiles close">
      <${Tile}
        name=${t("Running")}
        value=${count(driving)}
        more=${t("of {n} conversations", { n: count(sessions) })}
      />
      <${Tile}
        name=${t("Waiting messages")}
        value=${count(waiting)}
        more=${oldest(oldest_waiting)}
        look=${tone(oldest_waiting ?? 0, SLOW_SECONDS)}
      />
      <${Tile}
        name=${t("Unsent answers")}
        value=${count(owed)}
        more=${dead ? t("{n} failed", { n: count(dead) }) : oldest(oldest_owed)}
        look=${dead ? "bad" : tone(oldest_owed ?? 0, SLOW_SECONDS)}
      />
      <${Tile}
        name=${t("Tokens a minute")}
        value=${moment.tokens_a_minute === null ? t("unknown") : count(moment.tokens_a_minute ?? 0)}
      />
      <${Tile}
        name=${t("Cost today")}
        value=${moment.cost_today === null ? t("unknown") : money(moment.cost_today ?? 0)}
      />
      <${Tile}
        name=${t("Loop lag")}
        value=${duration(loop_lag_ms)}
        more=${tone(loop_lag_ms, SLOW_MS) && t("the gateway is busy")}
        look=${tone(loop_lag_ms, SLOW_MS)}
      />
      <${Tile}
        name=${t("Database")}
        value=${duration(store_ms)}
        more=${t("{n} changes wait", { n: count(store_queue) })}
        look=${tone(store_ms, SLOW_MS)}
      />
    </div>
    <ul class="row now-channels" aria-label=${t("Channels")}>
      ${Object.entries(moment.channels ?? {}).map(([name, state]) => html`
        <li key=${name}>
          ${name} <${State} state=${state} />
        </li>
      `)}
    </ul>
  `;
}

/** What a run does now, in the language shown. @param {LiveRun} run */
function doing({ kind = "", name = "", doing: said }) {
  const known = Object.entries(KINDS).find(([each]) => each === kind);
  if (!known) return t(said);
  return ["model", "tool", "stage", "delivery"].includes(kind)
    ? `${t(known[1])}: ${name}`
    : t(known[1]);
}

/** @param {{ run: LiveRun }} props */
const Row = ({ run }) => html`
  <tr>
    <td>
      <${State} state=${run.state} />
    </td>
    <td class="wide">
      <a href=${link("runs", run.id)}>${run.about || run.session_key}</a>
    </td>
    <td>${doing(run)}</td>
    <td class="number">${took(run.seconds)}</td>
    <td class="number">${took(run.lasted)}</td>
  </tr>
`;

/** @param {{ runs: LiveRun[], more: boolean }} props */
function Live({ runs, more }) {
  if (!runs.length) {
    return html`
      <${Empty} icon="runs" title=${t("Nothing is running")}>
        ${t("A run appears here while it works or waits for a person.")}
      <//>
    `;
  }
  return html`
    <div class="card flush scroll" tabindex=${0} role="region" aria-label=${t("Live runs")}>
      <table class="table">
        <thead>
          <tr>
            <th>${t("State")}</th>
            <th>${t("What")}</th>
            <th>${t("Does now")}</th>
            <th class="number">${t("Since")}</th>
            <th class="number">${t("Took")}</th>
          </tr>
        </thead>
        <tbody>${runs.map((run) => html`<${Row} key=${run.id} run=${run} />`)}</tbody>
      </table>
    </div>
    ${more && html`
      <p class="older">${t("The {n} newest are shown.", { n: count(runs.length) })}</p>
    `}
  `;
}

/** Asked again every two seconds while somebody looks. */
export function Now() {
  const moment = useFetched(
    (signal) => read("runs now", { limit: MOST, seconds: EVERY_MS / 1_000 }, { signal }),
    [changed.value],
    EVERY_MS,
  );
  return html`
    <${Fetched} of=${moment}>
      ${(now) => html`
        ${me.value?.role === "owner" && html`<${Figures} moment=${now} />`}
        <${Live} runs=${now.runs ?? []} more=${now.more_runs ?? false} />
      `}
    <//>
  `;
}
