/** One run: what it did when, as a picture and step by step. */

import { change, may, read } from "../../api.js";
import { clock, count, duration } from "../../format.js";
import { t } from "../../i18n.js";
import { html } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, Fetched, Head, State, useFetched, When } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";
import { go, link } from "../../router.js";
import { timelineOf } from "../../timeline.js";
import { pretty } from "../chat/items.js";
import { alive, lasted } from "../runs.js";

/** @type {Record<import("../../timeline.js").Bar["lane"], string>} */
const LANES = { model: "Model", tool: "Tools", wait: "Waiting" };
const LEAST = 0.4;

/**
 * @typedef {import("../../gateway.js").EntryView} Entry
 * @typedef {import("../../gateway.js").RunView} RunView
 */

/** @param {{ run: RunView, entries: Entry[] }} props */
function Timeline({ run, entries }) {
  const { bars, from, to } = timelineOf(run, entries);
  const whole = to - from;
  const text = bars
    .map((bar) => `${t(LANES[bar.lane])} ${bar.name} ${duration((bar.to - bar.from) * 1_000)}`)
    .join(", ");
  return html`
    <figure class="timeline card" aria-label=${text || t("Nothing happened yet")}>
      ${Object.entries(LANES).map(([lane, name]) => {
        const own = bars.filter((bar) => bar.lane === lane);
        return (
          own.length > 0 && html`
            <div class=${`lane of-${lane}`}>
              <span>${t(name)}</span>
              <div class="bars">
                ${own.map((bar) => {
                  const width = Math.max((100 * (bar.to - bar.from)) / whole, LEAST);
                  return html`
                    <a
                      class=${bar.ok ? "" : "bad"}
                      href=${`#step-${bar.seq}`}
                      onClick=${(event) => (
                        event.preventDefault(),
                        document
                          .getElementById(`step-${bar.seq}`)
                          ?.scrollIntoView({ block: "center" })
                      )}
                      tabindex=${-1}
                      style=${{
                        left: `${Math.min((100 * (bar.from - from)) / whole, 100 - LEAST)}%`,
                        width: `${width}%`,
                      }}
                      title=${`${bar.name} · ${duration((bar.to - bar.from) * 1_000)}`}
                    >
                      ${width > 9 ? bar.name : ""}
                    </a>
                  `;
                })}
              </div>
            </div>
          `
        );
      })}
      <div class="lane scale">
        <span></span>
        <div>
          ${[0, 0.25, 0.5, 0.75, 1].map((part) => html`
            <span>${duration(part * whole * 1_000)}</span>
          `)}
        </div>
      </div>
    </figure>
  `;
}

/** A value in few letters: a digest is known by its beginning. @param {unknown} value */
const plain = (value) =>
  typeof value !== "string"
    ? JSON.stringify(value)
    : /^[0-9a-f]{64}$/.test(value)
      ? `${value.slice(0, 12)}…`
      : value;

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
      ${body.usage && html`
        <small>
          ${t("{input} tokens in, {output} out", {
            input: count(body.usage.prompt_tokens),
            output: count(body.usage.completion_tokens),
          })}
        </small>
      `}
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
    <small>
      ${Object.entries(body)
        .filter(([name]) => name !== "type")
        .map(([name, value]) => `${name.replaceAll("_", " ")}: ${plain(value)}`)
        .join(" · ")}
    </small>
  `;
}

/** @param {{ entries: Entry[], from: number }} props */
function Steps({ entries, from }) {
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
        ${({ run, entries }) => html`
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
          <//>
          <${Facts} run=${run} />
          <${Timeline} run=${run} entries=${entries} />
          <${Steps} entries=${entries} from=${run.created_at} />
        `}
      <//>
    </div>
  `;
}
