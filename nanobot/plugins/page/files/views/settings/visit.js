/** Whether somebody is here for the first time: then the first steps come before the chat. */

import { may, me, read } from "../../api.js";
import { go } from "../../router.js";

const LEFT = "welcome:left";

/** Whether this browser goes to the chat at once. */
export const left = () => localStorage.getItem(LEFT) !== null;

/** From now on this browser goes to the chat at once. */
export function leave() {
  localStorage.setItem(LEFT, "1");
  go("chat");
}

/** Lead an owner who has chosen no model and connected no chat to the first steps. */
export async function welcome() {
  if (left() || me.value?.role !== "owner" || !may("config set")) return;
  const [[model], channels] = await Promise.all([
    read("config get", { key: "agent.model" }),
    may("channels list") ? read("channels list") : [],
  ]);
  const chosen = model.source !== "default" || channels.some(({ enabled }) => enabled);
  if (chosen) localStorage.setItem(LEFT, "1");
  else if (!location.hash) go("settings", "start");
}
