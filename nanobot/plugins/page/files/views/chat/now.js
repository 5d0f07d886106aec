/** What the assistant is doing at this moment: the answer as it grows, and the tools in use. */

import { duration } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../lib.js";
import { Growing } from "../../parts/markdown.js";
import { Reasoning, Tool } from "./items.js";

/** @type {Record<string, string>} */
const WORDS = {
  running: "Thinking",
  tool: "Using a tool",
  waiting: "Waiting for you",
  retrying: "Trying again",
  steered: "Thinking",
  progress: "Working",
  fallback: "Trying another model",
  objected: "Checking the answer",
};

/** The seconds since it began, beside what it does. @param {{ at: number }} props */
function Since({ at }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return html`<small>${duration(Math.max(Math.floor(now / 1_000 - at), 0) * 1_000)}</small>`;
}

/** @param {{ run: import("../../running.js").Running }} props */
export function Now({ run }) {
  const busy = run.tools.filter((tool) => tool.ok === undefined);
  return html`
    <article class="message answer growing" aria-busy="true" aria-live="off">
      ${run.reasoning && !run.text && html`<${Reasoning} text=${run.reasoning} open=${true} />`}
      ${run.text && !run.tools.length && html`<${Growing} text=${run.text} />`}
      ${busy.length > 0 && html`
        <div class="tools">
          ${busy.map((tool) => html`<${Tool} key=${tool.key} tool=${tool} />`)}
        </div>
      `}
      <footer class="doing">
        <i class="pulse"></i>
        <span role="status">
          ${t(WORDS[run.state] ?? "Working")}
          ${run.told ? `: ${run.told}` : ""}
        </span>
        <${Since} at=${run.since} />
      </footer>
    </article>
  `;
}
