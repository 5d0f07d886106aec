/** A prettier plugin for templates of htm: it reads them as JSX and prints them as templates. */

import { doc } from "prettier";
import { parsers } from "prettier/plugins/babel";
import { printers } from "prettier/plugins/estree";
import { toJsx } from "./htm.mjs";

const { builders, utils } = doc;
const { group, indent, softline } = builders;
const { estree } = printers;

const TEMPLATE = Symbol("template");
const SPACE = '{" "}';
const isElement = (node) => node?.type === "JSXElement" || node?.type === "JSXFragment";
const isComponent = (name) => name.type === "JSXIdentifier" && /^[A-Z]/.test(name.name);

/** Without the parentheses that JSX over several lines has. */
function bare(printed) {
  const parts = printed?.type === "group" ? printed.contents : undefined;
  if (!Array.isArray(parts) || parts[0]?.type !== "if-break") return printed;
  return parts[0].breakContents === "(" ? parts[1].contents[1] : printed;
}

/** A template within a conditional needs no parentheses, either. */
const bareBranches = (printed) =>
  utils.mapDoc(printed, (part) => {
    if (!Array.isArray(part) || part[0]?.breakContents !== "(") return part;
    const inner = part[1]?.contents?.[1];
    return inner?.[TEMPLATE] ? inner : part;
  });

/** An element that is no other's child: a template. */
function template(node, printed) {
  const inner = utils.mapDoc(bare(printed), (part) => (part === SPACE ? `$${SPACE}` : part));
  const broken = node.type === "JSXFragment" ? inner : [indent([softline, inner]), softline];
  return { ...group(["html`", broken, "`"]), [TEMPLATE]: true };
}

const PRINT = {
  JSXExpressionContainer: (path, printed) => ["$", printed()],
  JSXSpreadAttribute: (path, printed, print) => ["...${", print("argument"), "}"],
  ConditionalExpression: (path, printed) => bareBranches(printed()),
  JSXOpeningFragment: () => "",
  JSXClosingFragment: () => "",
  JSXClosingElement: ({ node }, printed) => (isComponent(node.name) ? "<//>" : printed()),
  JSXIdentifier: ({ node, parent, key }, printed) =>
    key === "name" && parent.type === "JSXOpeningElement" && isComponent(node)
      ? ["${", printed(), "}"]
      : printed(),
};

function print(path, options, next, args) {
  const { node, parent } = path;
  const printed = () => estree.print(path, options, next, args);
  if (isElement(node)) return isElement(parent) ? printed() : template(node, printed());
  return PRINT[node?.type]?.(path, printed, next) ?? printed();
}

export default {
  languages: [{ name: "htm", parsers: ["htm"], extensions: [".js"] }],
  parsers: { htm: { ...parsers.babel, astFormat: "htm", preprocess: toJsx } },
  printers: { htm: { ...estree, print } },
};
