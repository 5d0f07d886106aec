/**
 * Runs beside the page, also while it is closed: shows notifications, and says that there is no
 * connection. It keeps no file of the page but that note, so it never shows a page of an older
 * version. The gateway puts the name of its version in the place of DIGEST.
 */

const scope = /** @type {any} */ (globalThis);
const BASE = new URL("./", scope.location.href).pathname;
const KEPT = `nanobot ${BASE} `;
const CACHE = `${KEPT}DIGEST`;
const NOTE = `${BASE}page/DIGEST/offline.html`;

/** @type {Record<string, Record<string, string>>} */
const TEXTS = {
  en: { approval: "A call waits for your approval.", answer: "An answer is there." },
  zh: { approval: "有一个调用等待你的批准。", answer: "有新的回答。" },
};

scope.addEventListener("install", (/** @type {any} */ event) => {
  const keep = async () => {
    const cache = await caches.open(CACHE);
    await cache.add(new Request(NOTE, { cache: "reload" }));
    await scope.skipWaiting();
  };
  event.waitUntil(keep());
});

scope.addEventListener("activate", (/** @type {any} */ event) => {
  const tidy = async () => {
    const names = await caches.keys();
    const old = names.filter((name) => name.startsWith(KEPT) && name !== CACHE);
    await Promise.all(old.map((name) => caches.delete(name)));
    await scope.clients.claim();
  };
  event.waitUntil(tidy());
});

scope.addEventListener("fetch", (/** @type {any} */ event) => {
  if (event.request.mode !== "navigate") return;
  const note = async () => (await caches.match(NOTE)) ?? Response.error();
  event.respondWith(fetch(event.request).catch(note));
});

/** Whether somebody looks at the page now. */
async function looking() {
  const pages = await scope.clients.matchAll({ type: "window" });
  return pages.some((/** @type {any} */ page) => page.focused);
}

scope.addEventListener("push", (/** @type {any} */ event) => {
  const show = async () => {
    const { kind, id, session, text } = event.data?.json() ?? {};
    if (kind === "answer" && (await looking())) return;
    const texts = TEXTS[scope.navigator.language.startsWith("zh") ? "zh" : "en"];
    await scope.registration.showNotification("nanobot", {
      body: text || texts[kind] || texts.answer,
      tag: kind === "approval" ? `approval ${id}` : `answer ${session}`,
      icon: `${BASE}page/DIGEST/icons/192.png`,
      data: `${BASE}#/chat/${encodeURIComponent(session ?? "")}`,
    });
  };
  event.waitUntil(show());
});

scope.addEventListener("notificationclick", (/** @type {any} */ event) => {
  const open = async () => {
    event.notification.close();
    const [page] = await scope.clients.matchAll({ type: "window" });
    if (page) await (await page.navigate(event.notification.data))?.focus();
    else await scope.clients.openWindow(event.notification.data);
  };
  event.waitUntil(open());
});
