/** What the assistant asks before it goes on: a call to allow, or a question to answer. */

import { change, may, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, Unreadable, useFetched } from "../../parts/basics.js";
import { Failed } from "../../parts/fetched.js";
import { Icon } from "../../parts/icons.js";
import { spelled } from "../../format.js";

/** @typedef {import("../../gateway.js").ApprovalView} Approval */

/** @param {{ approval: Approval, onDone: () => Promise<void> }} props */
function Question({ approval, onDone }) {
  const [text, setText] = useState("");
  const answer = async (/** @type {string} */ words) => {
    await change("answer", { id: approval.id, text: words });
    await onDone();
  };
  return html`
    <form class="ask" aria-label=${t("A question")}>
      <h4>
        <${Icon} name="info" /> ${approval.question}
      </h4>
      <div class="row">
        ${approval.choices.map((choice) => html`
          <${Button} onClick=${() => answer(choice)}>${choice}<//>
        `)}
      </div>
      <div class="row">
        <input
          type="text"
          value=${text}
          onInput=${(event) => setText(event.currentTarget.value)}
          aria-label=${t("Answer in your own words")}
          placeholder=${t("Answer in your own words")}
        />
        <${Button} kind="main" type="submit" disabled=${!text} onClick=${() => answer(text)}>
          ${t("Answer")}
        <//>
      </div>
    </form>
  `;
}

/** Characters of a value that are shown until somebody asks for all of it. */
const MOST_SHOWN = 1_500;

/**
 * What a call is about to do: a command and other texts as they are, nothing hidden.
 * @param {{ text: string, most: number }} props
 */
function Arguments({ text, most }) {
  const given = objectOf(text);
  const shown = (/** @type {string} */ value) => {
    const whole = spelled(value);
    return whole.length > most ? `${whole.slice(0, most)} ...` : whole;
  };
  if (!given) return html`<pre tabindex=${0}>${shown(text)}</pre>`;
  return html`
    <dl class="arguments">
      ${Object.entries(given).map(([name, value]) => html`
        <dt>${spelled(name)}</dt>
        <dd>
          <pre tabindex=${0}>
            ${shown(typeof value === "string" ? value : JSON.stringify(value, null, 2))}
          </pre>
        </dd>
      `)}
    </dl>
  `;
}

/** @param {string} text @returns {Record<string, unknown> | null} */
function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * A call that waits to be allowed.
 * @param {{ approval: Approval, onDone: () => Promise<void> }} props
 */
export function Call({ approval, onDone }) {
  const { id, yours } = approval;
  const approve = async (/** @type {boolean} */ always) => {
    await change("approve", { id, always });
    await onDone();
  };
  const deny = async () => {
    await change("deny", { id });
    await onDone();
  };
  const show = async () => {
    await change("show", { id });
    await onDone();
  };
  return html`
    <section class="ask" aria-label=${t("Approval {id}", { id: approval.id })}>
      <h4>
        <${Icon} name="warning" /> ${t("May it use {tool}?", { tool: approval.tool })}${" "}
        <small>#${approval.id}</small>
      </h4>
      <p>${spelled(approval.why)}</p>
      <${Arguments}
        text=${approval.arguments}
        most=${yours && approval.unseen ? MOST_SHOWN : Infinity}
      />
      ${!yours && html`<p>${t("An owner decides this.")}</p>`}
      ${yours && approval.unseen && html`
        <div class="row">
          <${Button} kind="main" onClick=${show}>
            ${t("Show all of it")}
          <//>
          <${Button} onClick=${deny}>${t("Deny")}<//>
        </div>
      `}
      ${yours && !approval.unseen && html`
        <div class="row">
          <${Button} kind="main" onClick=${() => approve(false)}>
            ${t("Approve")}
          <//>
          <${Button} onClick=${deny}>${t("Deny")}<//>
          ${may("approve", "always") && html`
            <${Button}
              kind="bare"
              onClick=${() => approve(true)}
              title=${t("Allow calls like this one from now on")}
            >
              ${t("Always")}
            <//>
          `}
        </div>
      `}
    </section>
  `;
}

/** @param {{ session: string, version: number, onDecided: () => void }} props */
export function Questions({ session, version, onDecided }) {
  const open = useFetched(
    async (signal) =>
      may("approvals list") ? read("approvals list", { state: "open", limit: 50 }, { signal }) : [],
    [session, version, changed.value],
  );
  const here = (open.value ?? []).filter((approval) => approval.session_key === session);
  const done = () => (onDecided(), open.again());
  return html`
    ${here.map((approval) =>
      approval.question ? html`
        <${Question} key=${approval.id} approval=${approval} onDone=${done} />
      ` : html`<${Call} key=${approval.id} approval=${approval} onDone=${done} />`,
    )}
    <${Failed} of=${open} />
    <${Unreadable} of="approvals list" />
  `;
}
