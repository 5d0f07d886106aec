/** Conversations of all channels, and one of them at a time. */

import { t } from "../i18n.js";
import { html, signal, useEffect } from "../lib.js";
import { Empty, Loading, Missing } from "../parts/basics.js";
import { link } from "../router.js";
import { Conversations } from "./chat/conversations.js";

/** What somebody who has just begun may want next. */
const STEPS = [
  [
    link("settings", "start"),
    "First steps",
    "A model, a chat, who you are, how it talks: step by step.",
  ],
  [
    link("channels"),
    "Connect a chat",
    "Telegram, Discord, Slack, Matrix, mail: talk to it where you already are.",
  ],
  [link("memory", "USER.md"), "Say who you are", "What stands there is in every conversation."],
];

/** @type {import("../vendor/signals-core.js").Signal<import("../vendor/preact.js").ComponentType<{
 *   session: string }> | null>} */
const thread = signal(null);
/** Why it did not come. @type {import("../vendor/signals-core.js").Signal<unknown>} */
const missing = signal(null);
let asked = false;

/**
 * What shows a conversation is most of the page: it comes behind the list, or at once if one is
 * opened.
 */
async function load() {
  if (asked) return;
  asked = true;
  const named = document.getElementById("thread-modules");
  if (named instanceof HTMLTemplateElement) document.head.append(named.content);
  try {
    thread.value = (await import("./chat/thread.js")).Thread;
  } catch (error) {
    missing.value = error;
  }
}

const Coming = () => html`
  <section class="thread">
    ${missing.value ? html`<${Missing} error=${missing.value} />` : html`<${Loading} rows=${5} />`}
  </section>
`;

function First() {
  return html`
    <section class="thread none">
      <${Empty} icon="chat" title=${t("Choose a conversation")}>
        ${t("Or begin one: what is said here is answered like in any other chat.")}
        <ul class="first">
          ${STEPS.map(([place, name, about]) => html`
            <li>
              <a class="card" href=${place}>
                <b>${t(name)}</b>
                <small>${t(about)}</small>
              </a>
            </li>
          `)}
        </ul>
      <//>
    </section>
  `;
}

/** @param {{ what: string }} props */
export default function Chat({ what }) {
  useEffect(() => {
    if (what) load();
    else setTimeout(load, 300);
  }, [Boolean(what)]);
  const Thread = thread.value;
  return html`
    <div class=${`chat ${what ? "open" : ""}`}>
      <${Conversations} chosen=${what} />
      ${!what ? html`<${First} />` : Thread ? html`
        <${Thread} key=${what} session=${what} />
      ` : html`<${Coming} />`}
    </div>
  `;
}
