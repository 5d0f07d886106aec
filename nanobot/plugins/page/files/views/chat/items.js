/** What stands in a conversation: what people said, answers, tool calls, and notes. */

import { at, may, me, workspaceFile } from "../../api.js";
import { clock, duration, moment, size } from "../../format.js";
import { t } from "../../i18n.js";
import { html, useState } from "../../lib.js";
import { Button } from "../../parts/basics.js";
import { Icon } from "../../parts/icons.js";
import { Markdown } from "../../parts/markdown.js";
import { MakeCase, ThumbDown } from "../../parts/testcase.js";
import { link, place } from "../../router.js";

const LONG = 4_000;

/** The model's JSON, in lines; as it came where it is none. @param {string} text */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A short line on what a call is about: its first word of text. @param {string} text */
function gist(text) {
  try {
    /** @type {unknown[]} */
    const values = Object.values(JSON.parse(text));
    const value = values.find((each) => typeof each === "string" && each);
    return typeof value === "string" ? value.replace(/\s+/g, " ").slice(0, 90) : "";
  } catch {
    return text.slice(0, 90);
  }
}

/** @param {{ text: string }} props */
function Long({ text }) {
  const [whole, setWhole] = useState(false);
  if (text.length <= LONG || whole) return html`<pre tabindex=${0}>${text}</pre>`;
  return html`
    <pre tabindex=${0}>${text.slice(0, LONG)}</pre>
    <${Button} kind="small" onClick=${() => setWhole(true)}>
      ${t("Show all {n} characters", { n: text.length })}
    <//>
  `;
}

/**
 * The file that a call is about, if it is one of the workspace.
 * @param {{ name: string, arguments: string }} tool
 */
function fileOf({ name, arguments: given }) {
  if (!["write_file", "edit_file", "read_file"].includes(name)) return "";
  try {
    const { path } = JSON.parse(given);
    return typeof path === "string" && !/^[/~]|\.\.|^\w+:/.test(path) ? path : "";
  } catch {
    return "";
  }
}

/**
 * A tool call, folded: what it was asked for, what it gave, how long it took.
 * @param {{
 *   tool: {
 *     name: string, arguments: string, result?: string, ok?: boolean, ms?: number,
 *     tainted?: boolean,
 *   },
 * }} props
 */
export function Tool({ tool }) {
  const state =
    tool.result === undefined && tool.ok === undefined ? "busy" : tool.ok ? "good" : "bad";
  const path = fileOf(tool);
  return html`
    <details class=${`tool ${state}`}>
      <summary>
        <span class=${`dot ${state}`}></span>
        <b>${tool.name}</b> <span class="gist">${gist(tool.arguments)}</span>
        ${tool.ms ? html`<small>${duration(tool.ms)}</small>` : null}
        ${tool.tainted && html`
          <small class="tag" title=${t("It brought content from outside")}>
            ${t("from outside")}
          </small>
        `}
      </summary>
      ${path && tool.ok && may("files list") && html`
        <p>
          <a class="file" href=${workspaceFile(path)} download=${path.split("/").at(-1)}>
            <${Icon} name="download" />
            ${path}
          </a>
        </p>
      `}
      ${tool.arguments && html`
        <h4>${t("Arguments")}</h4>
        <pre tabindex=${0}>${pretty(tool.arguments)}</pre>
      `}
      ${tool.result !== undefined && html`
        <h4>${tool.ok ? t("Result") : t("What went wrong")}</h4>
        <${Long} text=${tool.result} />
      `}
    </details>
  `;
}

/** @param {{ file: import("../../gateway.js").Attachment }} props */
function File({ file }) {
  const session = place.value.what || me.value?.session || "";
  const address = file.blob
    ? at(`/api/blobs/${file.blob}?${new URLSearchParams({ name: file.name || "", session })}`)
    : file.path && may("files list")
      ? workspaceFile(file.path)
      : "";
  if (file.error)
    return html`
      <span class="file bad">
        <${Icon} name="warning" />
        ${file.name || file.kind}: ${file.error}
      </span>
    `;
  if (file.kind === "image" && address) {
    return html`
      <a class="picture" href=${address} target="_blank" rel="noopener">
        <img src=${address} alt=${file.name || t("picture")} loading="lazy" />
      </a>
    `;
  }
  return html`
    <a class="file" href=${address || undefined} download=${file.name}>
      <${Icon} name="attach" />
      ${file.name || file.kind}
      ${file.size ? html`<small>${size(file.size)}</small>` : null}
      ${file.text && html`<q>${file.text}</q>`}
    </a>
  `;
}

/** @param {string} text */
const copy = async (text) => (await import("../../parts/copying.js")).copy(text);

/**
 * @typedef {import("../../thread.js").Item} AnyItem
 * @typedef {import("../../thread.js").PersonItem} PersonItem
 * @typedef {import("../../thread.js").AnswerItem} AnswerItem
 * @typedef {import("../../thread.js").TextItem} TextItem
 * @typedef {import("../../thread.js").NoteItem} NoteItem
 */

/**
 * @param {{
 *   item: PersonItem, onRetry: (item: PersonItem) => void, onEdit: (text: string) => void,
 * }} props
 */
function Person({ item, onRetry, onEdit }) {
  return html`
    <article class="message person" aria-label=${t("{name} said", { name: item.name })}>
      <div class="bubble">
        ${item.text && html`<p>${item.text}</p>`}
        ${item.files.length > 0 && html`
          <div class="files">${item.files.map((file) => html`<${File} file=${file} />`)}</div>
        `}
      </div>
      <footer>
        <${Button}
          kind="bare"
          icon="edit"
          label=${t("Edit and send again")}
          onClick=${() => onEdit(item.text)}
        />
        <${Button}
          kind="bare"
          icon="retry"
          label=${t("Send again")}
          onClick=${() => onRetry(item)}
        />
        <${Button} kind="bare" icon="copy" label=${t("Copy")} onClick=${() => copy(item.text)} />
        ${item.origin !== "user" && html`<span class="tag">${t(item.origin)}</span>`}
        <span>${item.name}</span>
        <time title=${moment(item.at)}>${clock(item.at)}</time>
      </footer>
    </article>
  `;
}

/** @param {{ text: string, open?: boolean }} props */
export const Reasoning = ({ text, open = false }) => html`
  <details class="reasoning" open=${open}>
    <summary>${t("Thoughts")}</summary>
    <div>${text}</div>
  </details>
`;

/** What plugins remark on an answer or a run. @param {{ texts: string[] }} props */
export const Remarks = ({ texts }) =>
  texts.map((text) => html`
    <p class="remark" key=${text}>
      <${Icon} name="warning" />
      <span>${text}</span>
    </p>
  `);

/** @param {{ item: AnswerItem }} props */
function Answer({ item }) {
  if (item.replaced)
    return html`
      <details class="note">
        <summary>${t("An answer that was not given")}</summary>
        <${Markdown} text=${item.text} />
      </details>
    `;
  return html`
    <article class="message answer" aria-label=${t("Answer")}>
      ${item.reasoning && html`<${Reasoning} text=${item.reasoning} />`}
      ${item.text && html`<${Markdown} text=${item.text} />`}
      ${item.partial && html`<p class="tag">${t("cut off")}</p>`}
      <${Remarks} texts=${item.remarks ?? []} />
      <footer>
        ${item.model && html`<span>${item.model}</span>`}
        <time title=${moment(item.at)}>${clock(item.at)}</time>
        ${(item.ms ?? 0) > 0 && html`<span>${duration(item.ms ?? 0)}</span>`}
        <${Button} kind="bare" icon="copy" label=${t("Copy")} onClick=${() => copy(item.text)} />
        ${item.runId && !item.partial && html`
          <${ThumbDown} run=${item.runId} />
          <${MakeCase} small run=${item.runId} />
        `}
        ${item.runId && may("runs show") && html`
          <a
            class="button bare"
            href=${link("runs", item.runId)}
            aria-label=${t("Show the run")}
            title=${t("Show the run")}
          >
            <${Icon} name="runs" />
          </a>
        `}
      </footer>
    </article>
  `;
}

/**
 * Something said that is no answer.
 * @param {{ item: TextItem, name: string, tag: string }} props
 */
const Said = ({ item, name, tag }) => html`
  <article class="message answer" aria-label=${name}>
    <${Markdown} text=${item.text} />
    <footer>
      <span class="tag">${tag}</span>
      <time title=${moment(item.at)}>${clock(item.at)}</time>
    </footer>
  </article>
`;

/** @param {{ item: NoteItem }} props */
const Note = ({ item }) => html`
  <div class=${`note ${item.tone}`}>
    ${item.more && item.more.length > 60 ? html`
      <details>
        <summary>${t(item.text)}</summary>
        <pre tabindex=${0}>${item.more}</pre>
      </details>
    ` : html`
      <span>
        ${t(item.text)}
        ${item.more ? ` · ${item.more}` : ""}
      </span>
    `}
  </div>
`;

/**
 * @param {{
 *   item: AnyItem, onRetry: (item: PersonItem) => void, onEdit: (text: string) => void,
 * }} props
 */
export function Item({ item, onRetry, onEdit }) {
  switch (item.type) {
    case "person":
      return html`<${Person} item=${item} onRetry=${onRetry} onEdit=${onEdit} />`;
    case "answer":
      return html`<${Answer} item=${item} />`;
    case "post":
      return html`<${Said} item=${item} name=${t("Said unasked")} tag=${t("unasked")} />`;
    case "notice":
      return html`
        <${Said} item=${item} name=${t("Answer to a command")} tag=${t("not in the log")} />
      `;
    case "summary":
      return html`
        <details class="note summary">
          <summary>${t("Earlier messages are summarized")}</summary>
          <${Markdown} text=${item.text} />
        </details>
      `;
    case "tools":
      return html`
        <div class="tools">
          ${item.tools.map((tool) => html`
            <${Tool} key=${`${tool.call}:${tool.index}`} tool=${tool} />
          `)}
        </div>
      `;
    case "note":
      return html`<${Note} item=${item} />`;
    case "divider":
      return html`
        <div class="divider">
          <span>${t("A new conversation begins here")}</span>
        </div>
      `;
    default:
      return html`<div class="note">${t("erased")}</div>`;
  }
}
