/** The button of a conversation's menu; the menu itself comes when it is opened. */

import { may } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button } from "../../parts/basics.js";

/** @typedef {import("../../gateway.js").SessionView} Session */

/** @param {{ session: Session, onDone?: () => void }} props */
export function Manage({ session, onDone }) {
  const [menu, setMenu] = useState(/** @type {typeof import("./actions.js") | null} */ (null));
  const name = session.title || session.key;
  if (!may("sessions rename")) return null;
  const Menu = menu?.Actions;
  return html`
    <${Button}
      kind="bare small manageopen"
      icon="more"
      label=${t("Manage {name}", { name })}
      onClick=${async () => setMenu(await import("./actions.js"))}
    />
    ${Menu && html`<${Menu} session=${session} onDone=${onDone} onClose=${() => setMenu(null)} />`}
  `;
}
