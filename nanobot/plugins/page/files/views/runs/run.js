/** One run: what it did when, as a picture and step by step. */

import { change, may, read } from "../../api.js";
import { clock, count, duration, money } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Added } from "../../parts/added.js";
import { Button, Fetched, useFetched, When } from "../../parts/basics.js";
import { Head, State } from "../../parts/list.js";
import { tell } from "../../parts/notices.js";
import { Replay } from "../../parts/replaying.js";
import { MakeCase } from "../../parts/testcase.js";
import { go, link } from "../../router.js";
import { pretty, Remarks } from "../chat/items.js";
import { alive, lasted } from "../runs.js";

const MOST = 60;

/** @type {Record<Piece["kind"], string>} */
export const KINDS = {
  queue: "Queue",
  stage: "Stage",
  model: "Model",
  tool: "Tools",
  person: "Waiting for you",
  delivery: "Delivery",
  idle: "Nothing recorded",
};

/**
 * @typedef {import("../../gateway.js").EntryView} Entry
 * @typedef {import("../../gateway.js").RunView} RunView
 * @typedef {import("../../gateway.js").RunPage} RunPage
 * @typedef {NonNullable<RunPage["timeline"]>} Times
 * @typedef {NonNullable<Times["pieces"]>[number]} Piece
 */

/** What else is known of a piece. @param {Piece} piece */
const details = ({ first_ms = 0, tokens_in = 0, tokens_out = 0, cost, outcome }) =>
  [
    first_ms && t("first word {time}", { time: duration(first_ms) }),
    (tokens_in || tokens_out) &&
      t("{input} tokens in, {output} out", { input: count(tokens_in), output: count(tokens_out) }),
    typeof cost === "number" && money(cost),
    outcome && t(outcome),
  ]
    .filter(Boolean)
    .join(" · ");

/** @param {{ piece: Piece, from: number, whole: number }} props */
function Bar({ piece, from, whole }) {
  const lasted = piece.end - piece.start;
  const left = Math.min((100 * (piece.start - from)) / whole, 99.4);
  const bad = ["failed", "cut off"].includes(piece.outcome ?? "") ? "bad" : "";
  const name = ["queue", "idle"].includes(piece.kind) ? "" : piece.name;
  return html`
    <li class=${`of-${piece.kind} ${bad}`}>
      <span class="what">
        <b>${t(KINDS[piece.kind])}</b> ${name}
        <small>${details(piece)}</small>
      </span>
      <span class="bar" aria-hidden="true">
        <i style=${{ left: `${left}%`, width: `${Math.max((100 * lasted) / whole, 0.6)}%` }}></i>
      </span>
      <span class="time">${duration(lasted * 1_000)}</span>
    </li>
  `;
}

/**
 * What the run did, when and for how long; of many pieces the longest.
 * @param {{ times: Times }} props
 */
function Waterfall({ times }) {
  const [all, setAll] = useState(false);
  const pieces = times.pieces ?? [];
  const longest = [...pieces].sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, MOST);
  const shown = all ? pieces : pieces.filter((piece) => longest.includes(piece));
  const whole = Math.max(times.end - times.start, 0.001);
  return html`
    <section class="card waterfall" aria-label=${t("What took how long")}>
      ${times.where && html`<p class="where">${times.where}</p>`}
      <ol>
        ${shown.map((piece) => html`<${Bar} piece=${piece} from=${times.start} whole=${whole} />`)}
      </ol>
      ${!pieces.length && html`<p>${t("Nothing happened yet")}</p>`}
      ${pieces.length > shown.length && html`
        <p class="older">
          <${Button} onClick=${() => setAll(true)}>${t("Show all {n}", { n: pieces.length })}<//>
        </p>
      `}
    </section>
  `;
}

/** Fields that have a form of their own, wherever they are. */
const APART = ["type", "ms", "usage"];
/** Fields with words of the gateway's own. */
const WORDED = ["verdict", "decision", "prompt_variant"];

/**
 * A value in few letters: a digest is known by its beginning.
 * @param {string} name @param {unknown} value
 */
function plain(name, value) {
  if (typeof value !== "string") return JSON.stringify(value);
  if (/^[0-9a-f]{64}$/.test(value)) return `${value.slice(0, 12)}…`;
  return WORDED.includes(name)
    ? value
        .split("+")
        .map((word) => t(word))
        .join("+")
    : value;
}

/** The fields of an entry that has no form of its own. @param {object} body */
const facts = (body) =>
  Object.entries(body)
    .filter(([name, value]) => !APART.includes(name) && value !== null && value !== "")
    .map(([name, value]) => `${t(name.replaceAll("_", " "))}: ${plain(name, value)}`)
    .join(" · ");

/** @param {{ usage: import("../../gateway.js").Usage }} props */
const Spent = ({ usage }) => html`
  <small>
    ${t("{input} tokens in, {output} out", {
      input: count(usage.prompt_tokens),
      output: count(usage.completion_tokens),
    })}
  </small>
`;

/** What stands in an entry, for its kind. @param {{ entry: Entry }} props */
function Body({ entry }) {
  const { kind, body } = entry;
  if (body === null) return html`<p>${t("erased")}</p>`;
  if (kind === "reply") {
    return html`
      ${body.reasoning && html`
        <details>
          <summary>${t("Thoughts")}</summary>
          <pre tabindex=${0}>${body.reasoning}</pre>
        </details>
      `}
      ${body.text && html`<pre tabindex=${0}>${body.text}</pre>`}
      ${(body.tool_calls ?? []).map((call) => html`
        <p>
          <b>${call.name}</b>
        </p>
        <pre tabindex=${0}>${pretty(call.arguments)}</pre>
      `)}
      ${body.usage && html`<${Spent} usage=${body.usage} />`}
    `;
  }
  if (kind === "model_call")
    return html`
      <small>
        ${body.profile?.provider}/${body.profile?.name} ·${" "}
        ${t("about {n} tokens", { n: count(body.estimate ?? 0) })}
      </small>
    `;
  if ("text" in body)
    return html`
      ${"name" in body && html`<b>${body.name}</b>`}
      <pre tabindex=${0}>${body.text}</pre>
    `;
  return html`
    <small>${facts(body)}</small>
    ${"usage" in body && body.usage && html`<${Spent} usage=${body.usage} />`}
  `;
}

/** @param {{ run: RunView, entries: Entry[] }} props */
function Steps({ run, entries }) {
  const from = run.created_at;
  return html`
    <ol class="steps">
      ${entries.map((entry) => html`
        <li class="step card" id=${`step-${entry.seq}`} key=${entry.seq}>
          <header>
            <b>${t(entry.kind.replaceAll("_", " "))}</b>
            <time>${clock(entry.at)}</time>
            <small>+${duration(Math.max(entry.at - from, 0) * 1_000)}</small>
            ${entry.body && "ms" in entry.body && entry.body.ms ? html`
              <small>${duration(entry.body.ms)}</small>
            ` : null}
            <${Added} place="step" run=${run} entry=${entry} />
          </header>
          <${Body} entry=${entry} />
        </li>
      `)}
    </ol>
  `;
}

/** @param {{ run: RunView }} props */
function Facts({ run }) {
  const usage = run.usage;
  /** @type {[string, import("../../parts/basics.js").Children][]} */
  const facts = [
    ["Conversation", html`<a href=${link("chat", run.session_key)}>${run.session_key}</a>`],
    ["Begun", html`<${When} at=${run.created_at} />`],
    ["Took", duration(lasted(run) * 1_000)],
    ["Model calls", usage?.model_calls],
    ["Tool calls", usage?.tool_calls],
    ["Tokens", usage && count(usage.prompt_tokens + usage.completion_tokens)],
    ["Of these from the cache", usage?.cached_tokens ? count(usage.cached_tokens) : undefined],
    ["Attempts", run.attempts > 1 ? run.attempts : undefined],
    ["Started by", run.parent && html`<a href=${link("runs", run.parent)}>${run.parent}</a>`],
  ];
  return html`
    <dl class="facts">
      ${facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([name, value]) => html`
          <div>
            <dt>${t(name)}</dt>
            <dd>${value}</dd>
          </div>
        `)}
    </dl>
  `;
}

/** @param {{ state: string }} run */
const ended = ({ state }) => ["failed", "aborted"].includes(state);

/** @param {{ id: string }} props */
export function Run({ id }) {
  const page = useFetched((signal) => read("runs show", { id }, { signal }), [id, changed.value]);
  const cancel = async () => (await change("runs cancel", { id }), page.again());
  const retry = async () => {
    const run = await change("runs retry", { id });
    tell(t("It has been started again."));
    go("runs", run.id);
  };
  return html`
    <div class="view">
      <p>
        <a href=${link("runs")}>‹ ${t("All runs")}</a>
      </p>
      <${Fetched} of=${page}>
        ${({ run, entries, timeline, remarks }) => html`
          <${Head}
            title=${run.about || t("Run {id}", { id: run.id.slice(0, 10) })}
            about=${run.error ?? ""}
          >
            <${State} state=${run.state} />
            ${alive(run) && may("runs cancel") && html`
              <${Button} kind="stop" icon="stop" onClick=${cancel}>
                ${t("Cancel")}
              <//>
            `}
            ${may("runs retry") && run.kind === "task" && ended(run) && html`
              <${Button} icon="retry" onClick=${retry}>
                ${t("Try again")}
              <//>
            `}
            <${Replay} run=${run.id} />
            ${!alive(run) && html`<${MakeCase} run=${run.id} />`}
          <//>
          <${Remarks} texts=${(remarks ?? []).map(({ text }) => text)} />
          <${Facts} run=${run} />
          <${Added} place="run" run=${run} entries=${entries} />
          ${timeline && html`<${Waterfall} times=${timeline} />`}
          <${Steps} run=${run} entries=${entries} />
        `}
      <//>
    </div>
  `;
}
