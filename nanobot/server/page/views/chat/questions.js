/** What the assistant asks before it goes on: a call to allow, or a question to answer. */

import { change, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button, useFetched } from "../../parts/basics.js";
import { Icon } from "../../parts/icons.js";
import { pretty } from "./items.js";

/** @typedef {import("../../gateway.js").Approval} Approval */

/** @param {{ approval: Approval, onDone: () => void }} props */
function Question({ approval, onDone }) {
  const [text, setText] = useState("");
  const answer = async (/** @type {string} */ words) => {
    await change("answer", { id: approval.id, text: words });
    onDone();
  };
  return html`
    <form
      class="ask"
      aria-label=${t("A question")}
      onSubmit=${(event) => (event.preventDefault(), text && answer(text))}
    >
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
        <${Button} kind="main" disabled=${!text} onClick=${() => answer(text)}>
          ${t("Answer")}
        <//>
      </div>
    </form>
  `;
}

/** A call that waits to be allowed. @param {{ approval: Approval, onDone: () => void }} props */
export function Call({ approval, onDone }) {
  const { id } = approval;
  const approve = async (/** @type {boolean} */ always) => {
    await change("approve", { id, always });
    onDone();
  };
  const deny = async () => {
    await change("deny", { id });
    onDone();
  };
  return html`
    <section class="ask" aria-label=${t("Approval {id}", { id: approval.id })}>
      <h4>
        <${Icon} name="warning" /> ${t("May it use {tool}?", { tool: approval.tool })}${" "}
        <small>#${approval.id}</small>
      </h4>
      <p>${approval.why}</p>
      <pre tabindex=${0}>${pretty(approval.arguments)}</pre>
      <div class="row">
        <${Button} kind="main" onClick=${() => approve(false)}>
          ${t("Approve")}
        <//>
        <${Button} onClick=${deny}>${t("Deny")}<//>
        <${Button}
          kind="bare"
          onClick=${() => approve(true)}
          title=${t("Allow calls like this one from now on")}
        >
          ${t("Always")}
        <//>
      </div>
    </section>
  `;
}

/** @param {{ session: string, version: number, onDecided: () => void }} props */
export function Questions({ session, version, onDecided }) {
  const open = useFetched(
    (signal) => read("approvals list", { state: "open", limit: 50 }, { signal }),
    [session, version, changed.value],
  );
  const here = (open.value ?? []).filter((approval) => approval.session_key === session);
  const done = () => (open.again(), onDecided());
  return here.map((approval) =>
    approval.question ? html`
      <${Question} key=${approval.id} approval=${approval} onDone=${done} />
    ` : html`<${Call} key=${approval.id} approval=${approval} onDone=${done} />`,
  );
}
