/** Whom a channel obeys: ids that are known, or whoever writes to it now. */

import { change } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button } from "../../parts/basics.js";
import { Field } from "../../parts/dialog.js";

/** @typedef {import("../../gateway.js").ChannelTypeView} ChannelKind */

/**
 * `meet`: what the channel would be, to wait at; null: it is served already.
 * @param {{
 *   kind: ChannelKind, people: string,
 *   meet: { channel: string, name: string, settings: string } | null, ready: boolean,
 *   onChange: (people: string, chat: string) => void,
 * }} props
 */
export function Owners({ kind, people, meet, ready, onChange }) {
  const [met, setMet] = useState(/** @type {import("../../gateway.js").MetPerson | null} */ (null));
  const [others, setOthers] = useState(/** @type {string[]} */ ([]));
  const wait = async (/** @type {string[]} */ strangers) => {
    setMet(null);
    setOthers(strangers);
    if (meet) setMet(await change("channels meet", { ...meet, others: strangers.join(",") }));
  };
  const agree = () => {
    if (met)
      onChange(
        [
          ...new Set([
            ...people
              .split(",")
              .map((id) => id.trim())
              .filter(Boolean),
            met.id,
          ]),
        ].join(", "),
        met.chat,
      );
    setMet(null);
  };
  if (kind.only) return null;
  return html`
    <${Field}
      name=${t("Owners")}
      about=${`${kind.person}. ${t("Several with commas. Owners may do everything.")}`}
    >
      <input
        type="text"
        value=${people}
        onInput=${(event) => onChange(event.currentTarget.value, "")}
      />
    <//>
    ${meet && kind.knock && !met && html`
      <div class="row">
        <p class="soft grow">
          ${t("You do not know it? {knock}, within a minute of this:", {
            knock: kind.knock.replace("{bot}", t("it")),
          })}
        </p>
        <${Button} disabled=${!ready} onClick=${() => wait(others)}>
          ${t("See who writes")}
        <//>
      </div>
    `}
    ${met && html`
      <div class="row" role="status">
        <p class="grow">
          ${t("{name} (id {id}) wrote. Is that you?", {
            name: met.name || t("Somebody"),
            id: met.id,
          })}
        </p>
        <${Button} onClick=${() => wait([...others, met.id])}>${t("No, keep looking")}<//>
        <${Button} kind="main" onClick=${agree}>
          ${t("Yes")}
        <//>
      </div>
    `}
  `;
}
