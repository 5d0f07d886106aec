/** The files of the workspace: folder by folder, read here or saved. */

import { read, workspaceFile } from "../../api.js";
import { size } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Empty, Fetched, useFetched, When } from "../../parts/basics.js";
import { Dialog } from "../../parts/dialog.js";
import { Icon } from "../../parts/icons.js";
import { Markdown } from "../../parts/markdown.js";
import { link } from "../../router.js";

/** What the address of a folder begins with, behind "#/memory/". */
export const WORKSPACE = "workspace:";

/** @typedef {import("../../gateway.js").FileView} FileRow */

/** @param {string} path */
const nameOf = (path) => path.split("/").at(-1) ?? path;

/** @param {{ path: string, onClose: () => void }} props */
function Preview({ path, onClose }) {
  const file = useFetched((signal) => read("files show", { path }, { signal }), [path]);
  return html`
    <${Dialog} title=${nameOf(path)} onClose=${onClose} wide>
      <${Fetched} of=${file}>
        ${(value) => html`
          <p class="soft">
            ${path} · ${size(value.size)} · <${When} at=${value.changed_at} />
          </p>
          ${!value.is_text ? html`
            <p>${t("This is no text: save it to open it.")}</p>
          ` : path.endsWith(".md") ? html`<${Markdown} text=${value.text} />` : html`
            <pre tabindex=${0} class="card">
              ${value.text}
            </pre>
          `}
          ${value.cut && html`
            <p class="soft">${t("This is only the beginning: save the file to see all of it.")}</p>
          `}
        `}
      <//>
      <div class="row end">
        <a class="button main" href=${workspaceFile(path)} download=${nameOf(path)}>
          <${Icon} name="download" />
          ${t("Download")}
        </a>
      </div>
    <//>
  `;
}

/** @param {{ folder: string }} props */
function Crumbs({ folder }) {
  const parts = folder ? folder.split("/") : [];
  return html`
    <nav class="crumbs" aria-label=${t("Folders")}>
      <a href=${link("memory", WORKSPACE)} aria-current=${parts.length ? undefined : "page"}>
        ${t("Workspace")}
      </a>
      ${parts.map((name, index) => html`
        <i aria-hidden="true">/</i>
        <a
          href=${link("memory", WORKSPACE + parts.slice(0, index + 1).join("/"))}
          aria-current=${index === parts.length - 1 ? "page" : undefined}
        >
          ${name}
        </a>
      `)}
    </nav>
  `;
}

/** @param {{ file: FileRow, onOpen: (path: string) => void }} props */
function Row({ file, onOpen }) {
  const name = nameOf(file.path);
  return html`
    <li class="filerow">
      <${Icon} name=${file.kind === "folder" ? "folder" : "file"} />
      ${file.kind === "folder" ? html`
        <a class="grow" href=${link("memory", WORKSPACE + file.path)}>
          ${name}
        </a>
      ` : html`
        <button
          type="button"
          class="linklike grow"
          disabled=${file.kind === "other"}
          onClick=${() => onOpen(file.path)}
        >
          ${name}
        </button>
      `}
      <small>${file.size === null ? "" : size(file.size)}</small>
      <small class="when">
        <${When} at=${file.changed_at} />
      </small>
      ${file.kind === "file" ? html`
        <a
          class="button bare"
          href=${workspaceFile(file.path)}
          download=${name}
          aria-label=${t("Download {name}", { name })}
          title=${t("Download {name}", { name })}
        >
          <${Icon} name="download" />
        </a>
      ` : html`<span></span>`}
    </li>
  `;
}

/** @param {{ folder: string }} props */
export function Workspace({ folder }) {
  const files = useFetched((signal) => read("files list", { folder }, { signal }), [folder]);
  const [open, setOpen] = useState("");
  return html`
    <section>
      <${Crumbs} folder=${folder} />
      <${Fetched} of=${files}>
        ${(list) =>
          list.length ? html`
            <ul class="card flush">
              ${list.map((file) => html`
                <${Row} key=${file.path} file=${file} onOpen=${setOpen} />
              `)}
            </ul>
          ` : html`
            <${Empty} icon="folder" title=${t("There is nothing here")}>
              ${t(
                "Files that the assistant writes, and files that you send, are in the workspace.",
              )}
            <//>
          `
        }
      <//>
      ${open && html`<${Preview} path=${open} onClose=${() => setOpen("")} />`}
    </section>
  `;
}
