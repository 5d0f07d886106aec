/** Conversations of all channels, and one of them at a time. */

import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Empty } from "../parts/basics.js";
import { Conversations } from "./chat/conversations.js";
import { Thread } from "./chat/thread.js";

export default function Chat({ what }) {
  return html`<div class=${`chat ${what ? "open" : ""}`}>
    <${Conversations} chosen=${what} />
    ${what
      ? html`<${Thread} key=${what} session=${what} />`
      : html`<section class="thread none"><${Empty} icon="chat" title=${t("Choose a conversation")}>
          ${t("Or begin one: what is said here is answered like in any other chat.")}<//></section>`}
  </div>`;
}
