/**
 * A template of htm (`html` + a template literal) as the JSX that it means. Line breaks stay where
 * they are, so that a message about the JSX names the line of the template.
 */

import { parsers } from "prettier/plugins/babel";

const NAME = /[^\s=/>]/;

/** A template that has no form in JSX. */
class NotJsx extends Error {}

/**
 * The template's characters in order, with one item for each expression in it.
 * @returns {(string | { code: string })[]}
 */
function itemsOf(template, text, convert) {
  return template.quasis.flatMap((quasi, index) => {
    const { raw } = quasi.value;
    const expression = template.expressions[index];
    if (!expression) return [...raw];
    // With what surrounds it: comments and line breaks belong to it.
    const from = quasi.end + "${".length;
    const to = template.quasis[index + 1].start - "}".length;
    return [...raw, { code: convert(from, to) }];
  });
}

/** Reads one template; `out` is its JSX, `roots` how many things stand at its top. */
class Reader {
  constructor(items) {
    this.items = items;
    this.at = 0;
    this.open = [];
    this.out = "";
    this.roots = 0;
    this.elements = 0;
  }

  get now() {
    return this.items[this.at];
  }

  follows(text) {
    return [...text].every((letter, index) => this.items[this.at + index] === letter);
  }

  take(pattern) {
    let taken = "";
    while (typeof this.now === "string" && pattern.test(this.now)) taken += this.items[this.at++];
    return taken;
  }

  /** The name of an element, or the component that stands there. */
  name() {
    if (typeof this.now === "string") return this.take(NAME);
    const { code } = this.items[this.at++];
    if (!/^[A-Z]\w*$/.test(code)) throw new NotJsx(`a component needs a name of its own: ${code}`);
    return code;
  }

  all() {
    while (this.at < this.items.length) {
      if (this.follows("</")) this.closing();
      else if (this.now === "<") this.opening();
      else this.content();
    }
    if (this.open.length) throw new NotJsx(`<${this.open.at(-1)}> has no end`);
    const single = this.roots === 1 && this.elements === 1;
    return single ? `(${this.out})` : `<>${this.out}</>`;
  }

  content() {
    const top = !this.open.length;
    if (typeof this.now !== "string") {
      this.out += `{${this.items[this.at++].code}}`;
      this.roots += top;
      return;
    }
    const text = this.take(/[^<]/);
    if (/[{}>\\]|&\w+;/.test(text)) throw new NotJsx(`write it as an expression: ${text.trim()}`);
    this.out += text;
    this.roots += top && (text.trim() !== "" || !text.includes("\n"));
  }

  closing() {
    this.at += 2;
    if (this.now === "/") this.at += 1;
    else this.name();
    this.take(/\s/);
    this.at += 1;
    this.out += `</${this.open.pop()}>`;
  }

  opening() {
    if (!this.open.length) {
      this.roots += 1;
      this.elements += 1;
    }
    this.at += 1;
    const name = this.name();
    this.out += `<${name}`;
    for (;;) {
      this.out += this.take(/\s/);
      if (this.now === undefined) throw new NotJsx(`<${name} has no end`);
      if (this.follows("/>")) {
        this.at += 2;
        this.out += "/>";
        return;
      }
      if (this.now === ">") {
        this.at += 1;
        this.out += ">";
        this.open.push(name);
        return;
      }
      this.attribute();
    }
  }

  attribute() {
    if (this.follows("...")) {
      this.at += 3;
      this.out += `{...${this.items[this.at++].code}}`;
      return;
    }
    const name = this.take(NAME);
    if (!name) throw new NotJsx(`no attribute: ${JSON.stringify(this.now)}`);
    this.out += name;
    if (this.now !== "=") return;
    this.at += 1;
    if (typeof this.now !== "string") {
      this.out += `={${this.items[this.at++].code}}`;
      return;
    }
    const quote = this.items[this.at++];
    if (quote !== '"') throw new NotJsx(`the value of ${name} needs double quotes`);
    this.out += `="${this.take(/[^"]/)}"`;
    if (this.now !== '"') throw new NotJsx(`the value of ${name} is partly an expression`);
    this.at += 1;
  }
}

/** All nodes of a syntax tree that are templates of htm, outer ones first. */
function templatesIn(node, found = []) {
  if (Array.isArray(node)) for (const each of node) templatesIn(each, found);
  else if (typeof node?.type === "string") {
    if (node.type === "TaggedTemplateExpression" && node.tag.name === "html") found.push(node);
    for (const [key, value] of Object.entries(node)) {
      if (typeof value === "object" && !/comments$/i.test(key)) templatesIn(value, found);
    }
  }
  return found;
}

/** A module with JSX in the place of its templates. @param {string} text */
export function toJsx(text, options = {}) {
  const templates = templatesIn(parsers.babel.parse(text, options).program);
  const convert = (from, to) => {
    let out = "";
    let at = from;
    for (const node of templates) {
      if (node.start < at || node.end > to) continue;
      out += text.slice(at, node.start);
      try {
        out += new Reader(itemsOf(node.quasi, text, convert)).all();
      } catch (error) {
        if (!(error instanceof NotJsx)) throw error;
        throw new SyntaxError(`line ${node.loc.start.line}: ${error.message}`);
      }
      at = node.end;
    }
    return out + text.slice(at, to);
  };
  return convert(0, text.length);
}
