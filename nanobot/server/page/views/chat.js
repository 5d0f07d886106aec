/** Conversations of all channels, and one of them at a time. */

import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Empty } from "../parts/basics.js";
import { link } from "../router.js";
import { Conversations } from "./chat/conversations.js";
import { Thread } from "./chat/thread.js";

/** What somebody who has just begun may want next. */
const STEPS = [
  [link("settings", "model"), "Choose a model", "With its key, or one on this machine; it is tried before it is kept."],
  [link("channels"), "Connect a chat", "Telegram, Discord, Slack, Matrix, mail: talk to it where you already are."],
  [link("memory", "USER.md"), "Say who you are", "What stands there is in every conversation."],
];

export default function Chat({ what }) {
  return html`<div class=${`chat ${what ? "open" : ""}`}>
    <${Conversations} chosen=${what} />
    ${what
      ? html`<${Thread} key=${what} session=${what} />`
      : html`<section class="thread none"><${Empty} icon="chat" title=${t("Choose a conversation")}>
          ${t("Or begin one: what is said here is answered like in any other chat.")}
          <ul class="first">${STEPS.map(([place, name, about]) => html`<li><a class="card" href=${place}><b>${t(name)}</b><small>${t(about)}</small></a></li>`)}</ul><//></section>`}
  </div>`;
}
