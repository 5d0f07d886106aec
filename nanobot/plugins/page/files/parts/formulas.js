/**
 * Formulas in texts: found while Markdown is read, drawn as MathML by a library that is loaded when
 * the first one is shown.
 */

const LONGEST = 4_000;
const MOST = 300;
/** How large a formula may make something, in em. @type {[number, number]} */
const LARGEST = [40, 40];
/** `\\(x\\)`, `$$x$$`, and `$x$` where it is no money: nothing blank inside, no letter behind. */
const INLINE = new RegExp(
  [
    String.raw`^\\\((?<round>[^\n]+?)\\\)`,
    String.raw`^\$\$(?<twice>[^$\n]+)\$\$`,
    String.raw`^\$(?![\s$])(?<once>(?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\w)`,
  ].join("|"),
);
const BLOCK = /^(?:\$\$(?<dollars>[^$]+)\$\$|\\\[(?<square>[\s\S]+?)\\\])[ \t]*(?:\n|$)/;

/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/**
 * @param {"inline" | "block"} level
 * @param {RegExp} rule
 * @param {RegExp} begins
 * @returns {import("../vendor/marked.js").TokenizerAndRendererExtension}
 */
const formula = (level, rule, begins) => ({
  name: `formula-${level}`,
  level,
  start: (source) => source.search(begins),
  tokenizer(source) {
    const found = rule.exec(source);
    if (!found || found[0].length > LONGEST) return undefined;
    const display = level === "block" || found.groups?.twice !== undefined;
    return { type: `formula-${level}`, raw: found[0], display };
  },
  renderer: ({ raw, display }) =>
    `<code class="formula${display ? " display" : ""}">${escaped(raw.trim())}</code>`,
});

/** @type {import("../vendor/marked.js").MarkedExtension} */
export const formulas = {
  extensions: [formula("block", BLOCK, /\$\$|\\\[/), formula("inline", INLINE, /\$|\\\(/)],
};

/** A formula without what is around it. @param {string} source */
const inner = (source) => source.replace(/^(?:\$\$?|\\[([])|(?:\$\$?|\\[)\]])$/g, "");

/** @type {Promise<typeof import("../vendor/temml.js").default> | undefined} */
let library;

/**
 * Draw the formulas within an element in the place of their sources.
 * @param {HTMLElement} within
 */
export async function drawFormulas(within) {
  const sources = [...within.querySelectorAll("code.formula")].slice(0, MOST);
  if (!sources.length) return;
  library ??= import("../vendor/temml.js").then((module) => module.default);
  const { render } = await library;
  for (const source of sources) {
    const drawn = document.createElement("span");
    drawn.className = source.className;
    const displayMode = source.classList.contains("display");
    const options = { displayMode, throwOnError: true, annotate: true, maxSize: LARGEST };
    try {
      render(inner(source.textContent ?? ""), drawn, options);
      if (source.isConnected) source.replaceWith(drawn);
    } catch {
      // What is no formula stays as it was written.
    }
  }
}
