/**
 * Checks the types of the page: its modules with JSX in the place of their templates are written to
 * a folder, with the types of what they use of others beside, and TypeScript looks at that.
 */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { toJsx } from "./htm.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = join(HERE, "../../nanobot/plugins/page/files");
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
for (const name of readdirSync(PAGE, { recursive: true })) {
  if (!name.endsWith(".js") || name.startsWith("vendor")) continue;
  const target = join(JSX, `${name}x`);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, toJsx(readFileSync(join(PAGE, name), "utf8")));
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
const shown = relative(join(HERE, "../.."), PAGE);
process.stdout.write(stdout.replaceAll(/^(\S+\.js)x(?=\(\d+,\d+\))/gm, `${shown}/$1`));
process.stderr.write(stderr);
process.exit(status ?? 1);
