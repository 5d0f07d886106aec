/**
 * Runs before anything is drawn: what the first view asks for, while its modules are on their way,
 * and in which colours it is. The browser reads what is kept here slowly at first, so asking comes
 * before.
 */
(() => {
  const place = location.hash;
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const base = new URL("../..", script.src).pathname.replace(/\/$/, "");
  // Whoever is let in by a link is nobody before that.
  const paths = place.startsWith("#login=") ? [] : ["/api/me"];
  // Known since the last visit: whether this browser may list conversations.
  const lists = localStorage.getItem("lists") === "yes";
  if (lists && /^(#\/?)?$|^#\/chat/.test(place)) paths.push("/api/sessions/list?limit=200");
  // The language that was chosen on the page; else the browser says its own.
  const language = localStorage.getItem("language");
  const headers = language ? { "Accept-Language": language } : undefined;
  const ask = async (/** @type {string} */ path) => {
    const response = await fetch(base + path, { credentials: "same-origin", headers });
    return { response, value: response.ok ? await response.json() : undefined };
  };
  const kept = new Map(paths.map((path) => [path, ask(path)]));
  for (const answer of kept.values()) answer.catch(() => undefined);
  Object.assign(globalThis, { early: kept });
  document.documentElement.dataset.theme =
    localStorage.getItem("theme") ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
})();
