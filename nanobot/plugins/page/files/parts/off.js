/** What stands in the place of a list whose plugin is off. */

import { read } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Empty, Fetched, useFetched } from "./basics.js";

/** Names the plugin, and says how it is switched on. @param {{ plugin: string }} props */
export function Off({ plugin }) {
  const plugins = useFetched((signal) => read("plugins list", {}, { signal }), [plugin]);
  return html`
    <${Fetched} of=${plugins} rows=${2}>
      ${(list) => html`
        <${Empty} icon="info" title=${t("This belongs to the plugin {plugin}.", { plugin })}>
          ${list.find(({ name }) => name === plugin)?.why}
        <//>
      `}
    <//>
  `;
}
