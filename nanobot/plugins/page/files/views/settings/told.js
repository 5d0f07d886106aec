/** What became of settings that were written. */

import { t } from "../../i18n.js";

/** @typedef {import("../../gateway.js").ChangedSettings} Changed */

/** @param {Changed} changed */
export function told({ keys, restart, overridden, off }) {
  const key = keys.join(", ");
  if (overridden.length)
    return t("{key} is written, but the environment sets it too, and that counts.", { key });
  if (off.length)
    return t("{key} is written. It has no effect while the plugin {plugin} is off.", {
      key,
      plugin: off.join(", "),
    });
  if (restart.length) return t("{key} is written. It takes effect after a restart.", { key });
  return t("{key} is saved and in effect.", { key });
}
