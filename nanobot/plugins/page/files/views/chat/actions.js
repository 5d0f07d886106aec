/** What can be done with a conversation as a whole: name it, pin it, archive, save or delete it. */

import { at, change, may, read } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { changed } from "../../live.js";
import { Button } from "../../parts/basics.js";
import { Dialog, Field } from "../../parts/dialog.js";
import { Icon } from "../../parts/icons.js";
import { tell } from "../../parts/notices.js";
import { go, place } from "../../router.js";

/** @typedef {import("../../gateway.js").SessionView} Session */

/** Save the whole log as a file. @param {string} key */
async function save(key) {
  const page = await read("sessions export", { session: key });
  const file = new Blob([JSON.stringify(page, null, 2)], { type: "application/json" });
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(file);
  anchor.download = `${key.replace(/[^\w.-]+/g, "-")}.json`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}

/** The address of the log with the proof of its chain. @param {string} key */
const proof = (key) => at(`/plugins/proof/export?${new URLSearchParams({ session: key })}`);

/** @param {{ session: Session, onClose: () => void, onDone?: () => void }} props */
export function Actions({ session, onClose, onDone }) {
  const { key, pinned, archived } = session;
  const [title, setTitle] = useState(session.title);
  const [sure, setSure] = useState(false);
  const done = () => {
    changed.value += 1;
    onDone?.();
    onClose();
  };
  const rename = async () => {
    await change("sessions rename", { title, session: key });
    done();
  };
  const remove = async () => {
    await change("sessions delete", { session: key });
    tell(t("The conversation is deleted."));
    if (place.value.what === key) go("chat");
    changed.value += 1;
    onClose();
  };
  if (sure)
    return html`
      <${Dialog} title=${t("Delete this conversation?")} onClose=${onClose}>
        <p>${t("Its messages, runs and files are removed and cannot be brought back.")}</p>
        <div class="actions">
          <${Button} onClick=${() => setSure(false)}>${t("Back")}<//>
          <${Button} kind="danger" icon="trash" onClick=${remove}>
            ${t("Delete")}
          <//>
        </div>
      <//>
    `;
  const turn = async () => {
    await change(pinned ? "sessions unpin" : "sessions pin", { session: key });
    done();
  };
  const put = async () => {
    await change(archived ? "sessions unarchive" : "sessions archive", { session: key });
    done();
  };
  return html`
    <${Dialog} title=${t("Conversation")} onClose=${onClose}>
      ${may("sessions rename") && html`
        <form class="manage">
          <${Field}
            name=${t("Title")}
            about=${t("Empty: the first sentence of its first message.")}
          >
            <input
              type="text"
              maxlength=${120}
              value=${title}
              onInput=${(event) => setTitle(event.currentTarget.value)}
            />
          <//>
          <${Button} kind="main" type="submit" onClick=${rename}>
            ${t("Save title")}
          <//>
        </form>
      `}
      <div class="manage">
        ${may("sessions pin") && html`
          <${Button} icon="pin" onClick=${turn}>
            ${pinned ? t("Unpin") : t("Pin to the top")}
          <//>
        `}
        ${may("sessions archive") && html`
          <${Button} icon="folder" onClick=${put}>
            ${archived ? t("Return to the list") : t("Archive")}
          <//>
        `}
        ${may("sessions export") && html`
          <${Button} icon="download" onClick=${() => save(key)}>
            ${t("Export as JSON")}
          <//>
        `}
        ${may("audit export") && html`
          <a class="button" href=${proof(key)} download>
            <${Icon} name="download" />
            ${t("Export with proof")}
          </a>
        `}
        ${may("sessions delete") && html`
          <${Button} kind="danger" icon="trash" onClick=${() => setSure(true)}>
            ${t("Delete")}
          <//>
        `}
      </div>
    <//>
  `;
}
