/** Where in the page one is: "#/view/what". */

import { signal } from "./lib.js";

const parsed = () => {
  const [view = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view: view || "chat", what: rest.map(decodeURIComponent).join("/") };
};

export const place = signal(parsed());

addEventListener("hashchange", () => {
  place.value = parsed();
});

/** The address of a view, or of one thing in it. @param {string} view */
export const link = (view, what = "") => `#/${view}${what ? `/${encodeURIComponent(what)}` : ""}`;

/** @param {string} view */
export const go = (view, what = "") => {
  location.hash = link(view, what);
};
