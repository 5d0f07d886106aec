/** This browser's subscription to notifications, here and at the gateway. */

import { access, at, get, me, post, Told } from "./api.js";
import { t } from "./i18n.js";

/** Whose notifications are switched on in this browser, as the name of their conversation. */
const KEPT = "notified";

const whose = () => me.value?.session ?? "";

/** The bytes of base64url. @param {string} text */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
    letter.charCodeAt(0),
  );

/** Whether this browser can be notified: it needs HTTPS, and iPhones the installed page. */
export const able = () => "serviceWorker" in navigator && "PushManager" in globalThis;

async function subscription() {
  const worker = await navigator.serviceWorker.getRegistration(at("/"));
  return (await worker?.pushManager.getSubscription()) ?? null;
}

/** Whether it is switched on here, by this person. Earlier versions did not keep by whom. */
export async function isOn() {
  if (!able() || !(await subscription())) return false;
  return (localStorage.getItem(KEPT) ?? whose()) === whose();
}

/** @param {PushSubscription} made @param {Uint8Array} key */
function signedWith(made, key) {
  const used = made.options?.applicationServerKey;
  return !used || String(new Uint8Array(used)) === String(key);
}

/** The subscription that works with the gateway's key, made if there is none. */
async function subscribed() {
  const key = bytesOf((await get("/api/push")).key);
  const worker = await navigator.serviceWorker.ready;
  const had = await worker.pushManager.getSubscription();
  if (had && signedWith(had, key)) return had;
  await had?.unsubscribe();
  const options = { userVisibleOnly: true, applicationServerKey: key };
  return worker.pushManager.subscribe(options);
}

async function announce() {
  const made = await subscribed();
  const { p256dh = "", auth = "" } = made.toJSON().keys ?? {};
  await post("/api/push/subscribe", { endpoint: made.endpoint, keys: { p256dh, auth } });
  localStorage.setItem(KEPT, whose());
}

/** Switch notifications on. */
export async function begin() {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Told(t("This browser does not allow notifications from here."));
  await announce();
}

/** Switch them off. */
export async function end() {
  localStorage.removeItem(KEPT);
  const made = able() ? await subscription() : null;
  if (!made) return;
  await post("/api/push/unsubscribe", { endpoint: made.endpoint });
  await made.unsubscribe();
}

/** The gateway forgets a subscription with its login; a browser may change it. Tell it again. */
async function renew() {
  if (able() && Notification.permission === "granted" && (await isOn())) await announce();
}

/**
 * Install what shows notifications and says when there is no connection; browsers have it with
 * HTTPS only.
 */
export async function install() {
  const options = /** @type {const} */ ({ scope: at("/"), updateViaCache: "none" });
  await navigator.serviceWorker?.register(at("/sw.js"), options);
  if (access.value === "in") await renew();
}
