/** What the model would be sent now, as a picture of its parts. */

import { read } from "../../api.js";
import { count } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Fetched, useFetched } from "../../parts/basics.js";
import { Dialog } from "../../parts/dialog.js";

/**
 * @typedef {import("../../gateway.js").ContextView} ContextView
 */

/** @param {ContextView["messages"][number]} message */
const text = ({ content }) =>
  typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : `[${part.mime}]`)).join("\n");

/** How the parts are called, and how the page calls them. @type {[RegExp, string][]} */
const FORMS = [
  [/^system: skill (.+)$/, "System prompt: skill {name}"],
  [/^system: (.+)$/, "System prompt: {name}"],
  [/^tools \((\d+)\)$/, "Tools ({name})"],
  [/^history \((\d+).*\)$/, "Earlier messages ({name})"],
  [/^last message \((.+)\)$/, "Last message ({name})"],
];

/** What a part is called in the language shown; files have only names. @param {string} part */
function named(part) {
  for (const [form, text] of FORMS) {
    const name = form.exec(part)?.[1];
    if (name) return t(text, { name: t(name) });
  }
  return part;
}

/** @param {{ view: ContextView }} props */
function Picture({ view }) {
  const whole = Math.max(view.context_tokens, view.tokens, 1);
  return html`
    <div
      class="stack"
      role="img"
      aria-label=${t("{used} of {all} tokens", {
        used: count(view.tokens),
        all: count(view.context_tokens),
      })}
    >
      ${view.parts.map((part, index) => html`
        <span
          class=${`c${index % 6}`}
          style=${{ width: `${(100 * part.tokens) / whole}%` }}
          title=${`${named(part.name)}: ${count(part.tokens)}`}
        ></span>
      `)}
    </div>
    <dl class="parts">
      ${view.parts.map((part, index) => html`
        <div>
          <dt>
            <i class=${`c${index % 6}`}></i>
            ${named(part.name)}
          </dt>
          <dd>${count(part.tokens)}</dd>
        </div>
      `)}
    </dl>
  `;
}

/** @param {{ view: ContextView }} props */
function Whole({ view }) {
  const [open, setOpen] = useState(false);
  return html`
    <details onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${t("Everything, as it would be sent")}</summary>
      ${open && html`
        <h4>${t("System prompt")}</h4>
        <pre tabindex=${0}>${view.system}</pre>
        <h4>${t("Tools")}</h4>
        <p>${view.tools.map((tool) => tool.name).join(", ") || t("none")}</p>
        ${view.messages.map((message) => html`
          <h4>${t(message.role)}</h4>
          <pre tabindex=${0}>
            ${text(message)}
            ${message.tool_calls?.length ? `\n${JSON.stringify(message.tool_calls, null, 2)}` : ""}
          </pre>
        `)}
      `}
    </details>
  `;
}

/** @param {{ session: string, onClose: () => void }} props */
export function Context({ session, onClose }) {
  const view = useFetched((signal) => read("context show", { session }, { signal }), [session]);
  return html`
    <${Dialog} title=${t("What the model would be sent")} onClose=${onClose} wide>
      <${Fetched} of=${view}>
        ${(value) => html`
          <p>
            <b>${value.model}</b> ·${" "}
            ${t("{used} of {all} tokens", {
              used: count(value.tokens),
              all: count(value.context_tokens),
            })}
          </p>
          <${Picture} view=${value} />
          <${Whole} view=${value} />
        `}
      <//>
    <//>
  `;
}
