/**
 * Markdown from models and people as HTML that can do nothing: parsed by marked, cleaned by
 * DOMPurify.
 */

import { html, useEffect, useMemo, useRef } from "../lib.js";
import { t } from "../i18n.js";
import purify from "../vendor/dompurify.js";
import { Marked } from "../vendor/marked.js";

const LONGEST = 200_000;
const marked = new Marked({ gfm: true, breaks: true });
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
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    // A link leaves this page only with a click, and the other side learns nothing of this one.
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "INPUT") {
    if (node.getAttribute("type") !== "checkbox") node.remove();
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", node.hasAttribute("checked") ? "done" : "to do");
  }
});

/**
 * Clean HTML of a text. Pictures are never fetched: an address alone would tell of the reader.
 * @param {string} text
 * @returns {string}
 */
export function clean(text) {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n\n...` : text;
  return purify.sanitize(marked.parse(cut, { async: false }), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "class", "start", "type", "checked", "disabled", "align", "open"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ADD_URI_SAFE_ATTR: ["align", "checked", "disabled", "open", "start", "type"],
    ALLOW_DATA_ATTR: false,
  });
}

let highlighter;
const highlight = () =>
  (highlighter ??= import("../vendor/highlight.js").then((module) => module.default));

/** @param {Iterable<HTMLElement>} blocks */
async function colour(blocks) {
  const library = await highlight();
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
    await navigator.clipboard.writeText(block.textContent ?? "");
    button.textContent = t("Copied");
    setTimeout(() => (button.textContent = t("Copy")), 1_500);
  });
  const frame = /** @type {HTMLElement} */ (block.parentElement);
  frame.append(button);
  frame.tabIndex = 0;
}

/**
 * A text as Markdown; `still` once it does not grow any more, which is when code gets its colours.
 * @param {{ text: string, still?: boolean }} props
 */
export function Markdown({ text, still = true }) {
  const element = useRef(/** @type {HTMLDivElement | null} */ (null));
  const content = useMemo(() => clean(text), [text]);
  useEffect(() => {
    const shown = element.current;
    if (!still || !shown) return;
    const blocks = [...shown.querySelectorAll("pre > code")].filter(
      (block) => block instanceof HTMLElement,
    );
    for (const block of blocks) withCopy(block);
    const named = blocks.filter(
      (block) => block.className.includes("language-") && block.textContent.length < 50_000,
    );
    if (named.length) colour(named);
    for (const table of shown.querySelectorAll("table")) {
      const frame = document.createElement("div");
      frame.className = "scroll";
      frame.tabIndex = 0;
      table.replaceWith(frame);
      frame.append(table);
    }
  }, [content, still]);
  return html`
    <div ref=${element} class="markdown" dangerouslySetInnerHTML=${{ __html: content }}></div>
  `;
}
