/**
 * Runs before anything is drawn: in which colours, and what the first view asks for, while its modules
 * are on their way.
 */
(() => {
  document.documentElement.dataset.theme = localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const place = location.hash;
  // Whoever is let in by a link is nobody before that.
  if (place.startsWith("#login=")) return;
  const paths = ["/api/me", ...(/^(#\/?)?$|^#\/chat/.test(place) ? ["/api/sessions/list?limit=200"] : [])];
  globalThis.early = new Map(paths.map((path) => [path, fetch(path, { credentials: "same-origin" })]));
  for (const answer of globalThis.early.values()) answer.catch(() => undefined);
})();
