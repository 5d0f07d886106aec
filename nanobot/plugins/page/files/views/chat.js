/** Conversations of all channels, and one of them at a time. */

import { may, me } from "../api.js";
import { t } from "../i18n.js";
import { html, signal, useEffect } from "../lib.js";
import { Empty, Loading, Missing } from "../parts/basics.js";
import { link } from "../router.js";
import { Conversations, NoList } from "./chat/conversations.js";

/**
 * What somebody who has just begun may want next, and the operation that it needs.
 * @type {[keyof import("../gateway.js").Changes, string, string, string][]}
 */
const STEPS = [
  [
    "config set",
    link("settings", "start"),
    "First steps",
    "A model, a chat, who you are, how it talks: step by step.",
  ],
  [
    "channels connect",
    link("channels"),
    "Connect a chat",
    "Telegram, Discord, Slack, Matrix, mail: talk to it where you already are.",
  ],
  [
    "prompts write",
    link("memory", "USER.md"),
    "Say who you are",
    "Its contents are part of every conversation.",
  ],
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
        ${t("Or start a new one.")}
        <ul class="first">
          ${STEPS.filter(([needs]) => may(needs)).map(([, place, name, about]) => html`
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

/** Whether this person may see that conversation, or begin one of that name. @param {string} key */
function theirs(key) {
  const { everything = false, session = "", own = "" } = me.value ?? {};
  return everything || key === session || Boolean(own && key.startsWith(own));
}

const Foreign = () => html`
  <section class="thread none">
    <${Empty} icon="chat" title=${t("This conversation belongs to another person.")}>
      <a href=${link("chat", me.value?.session)}>${t("Open your own conversation")}</a>
    <//>
  </section>
`;

/** @param {{ what: string }} props */
export default function Chat({ what }) {
  // Somebody with one conversation needs no list of them; owners see what could list them.
  const alone = !may("sessions list") && !may("compact");
  const own = me.value?.session ?? "";
  return html`<${Opened} what=${alone && !theirs(what) ? own : what} alone=${alone} />`;
}

/** @param {{ what: string, alone: boolean }} props */
function Opened({ what, alone }) {
  useEffect(() => {
    if (what) load();
    else setTimeout(load, 300);
  }, [Boolean(what)]);
  const Thread = thread.value;
  return html`
    <div class=${`chat ${what ? "open" : ""} ${alone ? "alone" : ""}`}>
      ${may("sessions list") ? html`<${Conversations} chosen=${what} />` : (
        !alone && html`<${NoList} />`
      )}
      ${!what ? html`<${First} />` : !theirs(what) ? html`<${Foreign} />` : Thread ? html`
        <${Thread} key=${what} session=${what} />
      ` : html`<${Coming} />`}
    </div>
  `;
}
