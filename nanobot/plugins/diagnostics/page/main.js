/** Diagnostics: the contents of an archive to attach to a report, then its download. */

import { Button, change, Fetched, Head, html, size, t, useFetched } from "../../kit.js";

/** @typedef {import("../../gateway.js").Diagnostics} Archive */

/** Save exactly the archive whose files are shown. @param {Archive} archive */
const save = ({ name, archive }) => {
  const content = Uint8Array.from(atob(archive), (character) => character.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([content], { type: "application/gzip" }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: `${name}.tar.gz` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};

/** @param {{ file: Archive["files"][number] }} props */
const File = ({ file }) => html`
  <details class="tool" data-file=${file.name}>
    <summary>
      <b class="grow">${file.name}</b>
      ${file.failed ? html`<span class="state bad">${t("could not be collected")}</span>` : html`
        <span class="soft">${size(file.size)}</span>
      `}
    </summary>
    <pre tabindex=${0} aria-label=${file.name}>
      ${file.text}
    </pre>
  </details>
`;

export default () => {
  const made = useFetched(() => change("diagnostics", {}), []);
  return html`
    <div class="view">
      <${Head}
        title=${t("Diagnostics")}
        about=${t(
          "One archive to attach to a report of a problem. It holds no secrets, no words of conversations, and no names or ids of people. Read it here before you download it.",
        )}
      >
        <${Button} icon="retry" onClick=${made.again}>
          ${t("Collect again")}
        <//>
        <${Button}
          kind="main"
          disabled=${!made.value}
          onClick=${() => made.value && save(made.value)}
        >
          ${t("Download")}
        <//>
      <//>
      <${Fetched} of=${made} rows=${8}>
        ${({ files }) => html`
          <section>${files.map((file) => html`<${File} key=${file.name} file=${file} />`)}</section>
        `}
      <//>
    </div>
  `;
};
