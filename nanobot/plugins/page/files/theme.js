/** Light or dark: as the system has it, until somebody says otherwise. */

import { effect, signal } from "./lib.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const systems = signal(system.matches ? "dark" : "light");

/** What somebody said; "": as the system has it. */
export const chosen = signal(localStorage.getItem("theme") ?? "");

system.addEventListener("change", () => {
  systems.value = system.matches ? "dark" : "light";
});

/** What is shown now. */
export const theme = signal("light");

effect(() => {
  theme.value = chosen.value || systems.value;
  document.documentElement.dataset.theme = theme.value;
});

/** From now on; "": as the system has it. @param {string} name */
export function choose(name) {
  chosen.value = name;
  localStorage.setItem("theme", name);
}

/** The other one, from now on. */
export const turn = () => choose(theme.value === "dark" ? "light" : "dark");
