/** What the assistant knows besides conversations: what plugins keep of it, and its files. */

import { may, me } from "../api.js";
import { t } from "../i18n.js";
import { html } from "../lib.js";
import { Added } from "../parts/added.js";
import { Choice } from "../parts/basics.js";
import { Head } from "../parts/list.js";
import { go } from "../router.js";
import { Files } from "./memory/files.js";
import { Workspace, WORKSPACE } from "./memory/workspace.js";

/** @param {{ what: string }} props */
export default function MemoryView({ what }) {
  const asked = what.startsWith(WORKSPACE) ? "workspace" : what ? "files" : "list";
  /** @type {["list" | "files" | "workspace", string, boolean][]} */
  const parts = [
    ["list", t("Memories"), me.value?.views.some(({ place }) => place === "memory") ?? false],
    ["files", t("Files"), may("prompts list")],
    ["workspace", t("Workspace"), may("files list")],
  ];
  const options = parts
    .filter(([, , allowed]) => allowed)
    .map(([key, name]) => /** @type {const} */ ([key, name]));
  const view = options.some(([key]) => key === asked) ? asked : (options[0]?.[0] ?? "list");
  /** @type {Record<string, string>} */
  const places = { list: "", files: "USER.md", workspace: WORKSPACE };
  return html`
    <div class="view">
      <${Head}
        title=${t("Memory")}
        about=${t("The assistant's facts about you and your conversations.")}
      >
        ${options.length > 1 && html`
          <${Choice}
            label=${t("View")}
            value=${view}
            options=${options}
            onChange=${(chosen) => go("memory", places[chosen])}
          />
        `}
      <//>
      ${view === "list" ? html`<${Added} place="memory" />` : view === "files" ? html`
        <${Files} name=${what || "USER.md"} />
      ` : html`<${Workspace} folder=${what.slice(WORKSPACE.length)} />`}
    </div>
  `;
}
