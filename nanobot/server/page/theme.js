/** Light or dark: as the system has it, until somebody says otherwise. */

import { effect, signal } from "./lib.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(localStorage.getItem("theme") ?? "");
const systems = signal(system.matches ? "dark" : "light");

system.addEventListener("change", () => {
  systems.value = system.matches ? "dark" : "light";
});

/** What is shown now. */
export const theme = signal("light");

effect(() => {
  theme.value = chosen.value || systems.value;
  document.documentElement.dataset.theme = theme.value;
});

/** The other one, from now on. */
export function turn() {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem("theme", chosen.value);
}
