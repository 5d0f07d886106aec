/**
 * Checks the types of the page: its modules with JSX in the place of their templates are written to
 * a folder, with the types of what they use of others beside, and TypeScript looks at that.
 */

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { toJsx } from "./htm.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = join(HERE, "../../nanobot/plugins/page/files");
const PLUGINS = join(HERE, "../../nanobot/plugins");
const JSX = join(HERE, ".jsx");

const OPTIONS = {
  allowJs: true,
  checkJs: true,
  strict: true,
  noEmit: true,
  target: "es2024",
  lib: ["es2024", "dom", "dom.iterable"],
  module: "esnext",
  moduleResolution: "bundler",
  jsx: "react-jsx",
  jsxImportSource: "preact",
  types: [],
  skipLibCheck: true,
};

rmSync(JSX, { recursive: true, force: true });

/** Writes the modules of a folder, to where the gateway serves them. */
function write(folder, place) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith(".js") || name.startsWith("vendor")) continue;
    const target = join(JSX, place, `${name}x`);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, toJsx(readFileSync(join(folder, name), "utf8")));
  }
}

write(PAGE, "");
for (const name of readdirSync(PLUGINS)) {
  const folder = join(PLUGINS, name, "page");
  if (existsSync(folder)) write(folder, `plugins/${name}`);
}
const types = spawnSync(process.env.PYTHON ?? "python3", [join(HERE, "api_types.py")], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
if (types.status !== 0) process.exit(1);
writeFileSync(join(JSX, "gateway.d.ts"), types.stdout);
cpSync(join(HERE, "vendor"), join(JSX, "vendor"), { recursive: true });
writeFileSync(join(JSX, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS }));

const command = join(HERE, "node_modules/.bin/tsc");
const { status, stdout, stderr } = spawnSync(command, ["--project", JSX], {
  cwd: JSX,
  encoding: "utf8",
});
const root = join(HERE, "../..");
const file = (/** @type {string} */ name) =>
  name.startsWith("plugins/")
    ? `${relative(root, PLUGINS)}/${name.replace(/^plugins\/(\w+)/, "$1/page")}`
    : `${relative(root, PAGE)}/${name}`;
process.stdout.write(stdout.replaceAll(/^(\S+\.js)x(?=\(\d+,\d+\))/gm, (_, name) => file(name)));
process.stderr.write(stderr);
process.exit(status ?? 1);
