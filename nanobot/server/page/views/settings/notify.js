/** Notifications on this device, sent by the gateway while the page is closed. */

import { at, get, post } from "../../api.js";
import { t } from "../../i18n.js";
import { html, useEffect, useState } from "../../lib.js";
import { Button } from "../../parts/basics.js";
import { tell } from "../../parts/notices.js";

/** The bytes of base64url. @param {string} text */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
    letter.charCodeAt(0),
  );

/** Whether this browser can be notified: it needs HTTPS, and iPhones the installed page. */
const able = () => "serviceWorker" in navigator && "PushManager" in globalThis;

async function subscription() {
  const worker = await navigator.serviceWorker.getRegistration(at("/"));
  return (await worker?.pushManager.getSubscription()) ?? null;
}

async function begin() {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error(t("This browser does not allow notifications from here."));
  const { key } = await get("/api/push");
  const worker = await navigator.serviceWorker.ready;
  const made = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(key),
  });
  const { p256dh = "", auth = "" } = made.toJSON().keys ?? {};
  await post("/api/push/subscribe", { endpoint: made.endpoint, keys: { p256dh, auth } });
}

async function end() {
  const made = await subscription();
  if (!made) return;
  await post("/api/push/unsubscribe", { endpoint: made.endpoint });
  await made.unsubscribe();
}

export function Notifications() {
  const [on, setOn] = useState(false);
  const look = () =>
    able() ? subscription().then((made) => setOn(made !== null)) : Promise.resolve();
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
