/** Notifications on this device, sent by the gateway while the page is closed. */

import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../lib.js";
import { able, begin, end, isOn } from "../../notified.js";
import { Button } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";

export function Notifications() {
  const [on, setOn] = useState(false);
  const look = async () => setOn(await isOn());
  useEffect(() => {
    look().catch(() => undefined);
  }, []);
  const turn = async () => {
    await (on ? end() : begin());
    tell(on ? t("This device is no longer notified.") : t("This device is notified from now on."));
    await look();
  };
  return html`
    <div class="card stacked">
      <h2>${t("Notifications")}</h2>
      <p class="soft">
        ${t("Approvals, and answers that wait, are shown on this device while the page is closed.")}
      </p>
      ${able() ? html`
        <div class="row">
          <${Button} kind=${on ? "" : "main"} onClick=${turn}>
            ${on ? t("Stop notifying") : t("Notify me on this device")}
          <//>
        </div>
      ` : html`
        <p class="soft">
          ${t("This needs HTTPS; on an iPhone, add the page to the home screen first.")}
        </p>
      `}
    </div>
  `;
}
