/** Where in the page one is: "#/view/what". */

import { signal } from "./lib.js";

/** A part of an address, which people may have written. @param {string} part */
function read(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const parsed = () => {
  const [view = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view: view || "chat", what: rest.map(read).join("/") };
};

export const place = signal(parsed());

/** The conversation that was opened last. */
export const lastOpened = signal(place.value.view === "chat" ? place.value.what : "");

addEventListener("hashchange", () => {
  place.value = parsed();
  const { view, what } = place.value;
  if (view === "chat" && what) lastOpened.value = what;
});

/** The address of a view, or of one thing in it. @param {string} view */
export const link = (view, what = "") => `#/${view}${what ? `/${encodeURIComponent(what)}` : ""}`;

/** @param {string} view */
export const go = (view, what = "") => {
  location.hash = link(view, what);
};
