/**
 * Markdown from models and people as HTML that can do nothing: parsed by marked, cleaned by
 * DOMPurify.
 */

import { workspaceFile } from "../api.js";
import { asset, html, useEffect, useMemo, useRef } from "../lib.js";
import { language, t } from "../i18n.js";
import { styled } from "../styles.js";
import purify from "../vendor/dompurify.js";
import { Marked } from "../vendor/marked.js";
import { drawFormulas, formulas } from "./formulas.js";

const LONGEST = 200_000;
const marked = new Marked({ gfm: true, breaks: true }, formulas, {
  renderer: {
    image({ href, text }) {
      const path = pathOf(href);
      if (path) return `<img src="${workspaceFile(path)}" alt="${quoted(text || path)}">`;
      return `<a href="${quoted(href)}">${quoted(text || href)}</a>`;
    },
  },
});
const PICTURES = workspaceFile("");

/** @param {string} text */
function quoted(text) {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/**
 * The file of the workspace that a picture's address names, "" if it is anything else.
 * @param {string} href
 */
function pathOf(href) {
  const path = href.replace(/^(?:\.\/)+/, "");
  const inside = path && !/^[/\\~]|^[\w+.-]+:|(?:^|[/\\])\.\.(?:[/\\]|$)/.test(path);
  if (!inside) return "";
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const TAGS = [
  "a",
  "b",
  "blockquote",
  "br",
  "code",
  "del",
  "details",
  "em",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "i",
  "img",
  "input",
  "kbd",
  "li",
  "mark",
  "ol",
  "p",
  "pre",
  "s",
  "strong",
  "sub",
  "summary",
  "sup",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
];
const BLOCKS = /^(?:BLOCKQUOTE|H[1-6]|LI|OL|P|TABLE|T[DH]|UL)$/;
purify.addHook("afterSanitizeAttributes", (node) => {
  // A list or a table in Arabic begins on the right.
  if (BLOCKS.test(node.tagName)) node.setAttribute("dir", "auto");
  if (node.tagName === "A") {
    // A link leaves this page only with a click, and the other side learns nothing of this one.
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "IMG") {
    if (node.getAttribute("src")?.startsWith(PICTURES)) node.setAttribute("loading", "lazy");
    else node.remove();
  }
  if (node.tagName === "INPUT") {
    if (node.getAttribute("type") !== "checkbox") node.remove();
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", node.hasAttribute("checked") ? t("done") : t("to do"));
  }
});

/**
 * Clean HTML of a text. Pictures come from the workspace alone: the address of one elsewhere would
 * tell of the reader, and is a link.
 * @param {string} text
 * @returns {string}
 */
export function clean(text) {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n\n...` : text;
  return purify.sanitize(marked.parse(cut, { async: false }), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: [
      "href",
      "src",
      "alt",
      "class",
      "start",
      "type",
      "checked",
      "disabled",
      "align",
      "open",
    ],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ADD_URI_SAFE_ATTR: ["src", "alt", "align", "checked", "disabled", "open", "start", "type"],
    ALLOW_DATA_ATTR: false,
  });
}

/** @param {Iterable<HTMLElement>} blocks */
async function colour(blocks) {
  const [{ default: library }] = await Promise.all([
    import("../vendor/highlight.js"),
    styled(asset("./styles/code.css")),
  ]);
  for (const block of blocks) {
    const name = /language-([\w+#-]+)/.exec(block.className)?.[1];
    if (name && library.getLanguage(name) && block.isConnected) library.highlightElement(block);
  }
}

/** @param {HTMLElement} block */
function withCopy(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = t("Copy");
  button.addEventListener("click", async () => {
    const { copy } = await import("./copying.js");
    await copy(block.textContent ?? "");
    button.textContent = t("Copied");
    setTimeout(() => (button.textContent = t("Copy")), 1_500);
  });
  const frame = /** @type {HTMLElement} */ (block.parentElement);
  frame.append(button);
  frame.tabIndex = 0;
}

/** A part of a text that grows. @param {{ text: string }} props */
function Block({ text }) {
  const content = useMemo(() => clean(text), [text]);
  return html`<div class="part" dangerouslySetInnerHTML=${{ __html: content }}></div>`;
}

/**
 * A text as Markdown while it grows: block by block, so that only the last one is read and drawn
 * again. What refers to a later block is right once the text is still.
 * @param {{ text: string }} props
 */
export function Growing({ text }) {
  const whole = useRef({ blocks: /** @type {string[]} */ ([]), text: "" });
  if (!text.startsWith(whole.current.text)) whole.current = { blocks: [], text: "" };
  const before = whole.current;
  const parts = marked.lexer(text.slice(before.text.length)).map(({ raw }) => raw);
  // Blank lines belong to what they follow.
  const last = parts.findLastIndex((raw) => raw.trim());
  const done = parts.slice(0, Math.max(last, 0));
  before.blocks.push(...done);
  before.text += done.join("");
  const growing = parts.slice(done.length).join("");
  return html`
    <div class="markdown">
      ${[...before.blocks, growing].map((block, index) => html`
        <${Block} key=${index} text=${block} />
      `)}
    </div>
  `;
}

/**
 * A text as Markdown, with colours in its code.
 * @param {{ text: string }} props
 */
export function Markdown({ text }) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  const content = useMemo(() => clean(text), [text, language.value]);
  useEffect(() => {
    const shown = element.current;
    if (!shown) return;
    const blocks = [...shown.querySelectorAll("pre > code")].filter(
      (block) => block instanceof HTMLElement,
    );
    for (const block of blocks) withCopy(block);
    const named = blocks.filter(
      (block) => block.className.includes("language-") && block.textContent.length < 50_000,
    );
    if (named.length) colour(named);
    drawFormulas(shown).catch(() => undefined);
    for (const picture of shown.querySelectorAll("img"))
      picture.addEventListener("error", () => picture.replaceWith(picture.alt), { once: true });
    for (const table of shown.querySelectorAll("table")) {
      const frame = document.createElement("div");
      frame.className = "scroll";
      frame.tabIndex = 0;
      table.replaceWith(frame);
      frame.append(table);
    }
  }, [content, language.value]);
  // Anew in each language: what was added to it is.
  return html`
    <div
      key=${language.value}
      ref=${element}
      class="markdown"
      dangerouslySetInnerHTML=${{ __html: content }}
    ></div>
  `;
}
