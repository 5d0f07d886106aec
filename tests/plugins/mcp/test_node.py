"""Servers that npm, pnpm or a workspace installed: they start in the sandbox, and one that fails
says why. The programs are real ones of Node."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.common.walls import NoWalls
from nanobot.plugins.mcp.complaints import telling_line
from nanobot.plugins.mcp.connection import linked
from nanobot.plugins.mcp.connection_state import ConnectionState
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="needs node")

SIBLING = "module.exports = { name: 'sibling' };\n"
SERVER = """#!/usr/bin/env node
const { name } = require('sibling');
const { tool } = require('linked');
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const say = (more) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...more }));
  const info = { capabilities: { tools: {} }, serverInfo: { name, version: '1' } };
  if (method === 'initialize')
    say({ result: { protocolVersion: params.protocolVersion, ...info } });
  else if (method === 'tools/list')
    say({ result: { tools: [{ name: tool, inputSchema: { type: 'object' } }] } });
  else if (id !== undefined) say({ error: { code: -32601, message: `no ${method}` } });
});
"""
LINKED = "module.exports = { tool: require('deeper').tool };\n"
DEEPER = "module.exports = { tool: 'greet' };\n"


def package(folder: Path, text: str) -> Path:
    """A package whose code is in dist/index.js."""
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text('{"main": "dist/index.js"}')
    (folder / "dist" / "index.js").write_text(text)
    (folder / "dist" / "index.js").chmod(stat.S_IRWXU)
    return folder


def npm(root: Path) -> None:
    """As npm and npx lay it out: all of them side by side, programs as links."""
    modules = root / "node_modules"
    for name, text in (("sibling", SIBLING), ("linked", LINKED), ("deeper", DEEPER)):
        package(modules / name, text)
    package(modules / "@acme" / "server", SERVER)
    (modules / ".bin").mkdir()
    (modules / ".bin" / "server").symlink_to("../@acme/server/dist/index.js")


def pnpm(root: Path) -> None:
    """Each in a folder of the store, with links to what it needs."""
    store = root / "node_modules" / ".pnpm"
    for name, text, needs in (
        ("deeper", DEEPER, ()),
        ("linked", LINKED, ("deeper",)),
        ("sibling", SIBLING, ()),
        ("@acme/server", SERVER, ("sibling", "linked")),
    ):
        place = store / f"{name.replace('/', '+')}@1.0.0" / "node_modules"
        package(place / name, text)
        for need in needs:
            (place / need).symlink_to(store / f"{need}@1.0.0" / "node_modules" / need)
    own = root / "node_modules" / "@acme"
    own.mkdir()
    (own / "server").symlink_to(store / "@acme+server@1.0.0" / "node_modules" / "@acme" / "server")
    (root / "node_modules" / ".bin").mkdir()
    (root / "node_modules" / ".bin" / "server").symlink_to("../@acme/server/dist/index.js")


def workspace(root: Path) -> None:
    """The server is a package of the repository; another one is linked from elsewhere."""
    package(root / "packages" / "server", SERVER)
    package(root / "node_modules" / "sibling", SIBLING)
    (root / "node_modules" / "@acme").mkdir()
    (root / "node_modules" / "@acme" / "server").symlink_to("../../packages/server")
    elsewhere = root.parent / "elsewhere"
    package(elsewhere, LINKED)
    package(elsewhere / "node_modules" / "deeper", DEEPER)
    (root / "node_modules" / "linked").symlink_to(elsewhere)
    (root / "node_modules" / ".bin").mkdir()
    (root / "node_modules" / ".bin" / "server").symlink_to("../@acme/server/dist/index.js")


def place_of(tmp_path: Path) -> ServerPlace:
    """With a sandbox, where it works."""
    return ServerPlace(
        tmp_path / "user" / ".nanobot" / "mcp",
        tmp_path / "user" / ".nanobot" / "workspace",
        Bubblewrap(find_bwrap()),
    )


async def offered(tmp_path: Path, settings: McpSettings, *, sandbox: bool = True) -> list[str]:
    """The tools of a server that starts; raises why it does not."""
    place = place_of(tmp_path) if sandbox else place_of(tmp_path)._replace(walls=NoWalls())
    place.folder.mkdir(parents=True, exist_ok=True)
    environ = place.environment({"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user")})
    async with linked("it", settings, environ, place, ConnectionState()) as connection:
        return [tool.name for tool in await connection.tools()]


def layouts() -> list[object]:
    """Each layout once in each way; the quick tests have each of both once."""
    ways = ("program", "script", "link")
    return [
        pytest.param(layout, way, marks=[] if number == place else [pytest.mark.slow])
        for number, layout in enumerate((npm, pnpm, workspace))
        for place, way in enumerate(ways)
    ]


@pytest.mark.parametrize(("layout", "called"), layouts())
async def test_a_server_sees_the_modules_that_it_loads(
    tmp_path: Path, layout: object, called: str
) -> None:
    root = tmp_path / "user" / ".npm" / "_npx" / "15b07286cbcc3329"
    root.mkdir(parents=True)
    layout(root)  # type: ignore[operator]
    (tmp_path / "user" / "private.txt").write_text("nothing of this")
    server = root / "node_modules" / ".bin" / "server"
    script = root / "node_modules" / "@acme" / "server" / "dist" / "index.js"
    command = {
        "program": (str(server),),
        "script": (NODE, str(script)),
        "link": (NODE, str(server)),
    }
    words = command[called]
    settings = McpSettings(command=words[0], args=words[1:], sandbox="bwrap", timeout=20.0)
    assert await offered(tmp_path, settings) == ["greet"]


HANDSHAKE = "process.stdin.once('data', () => {%s});"
FAILURES = {
    "module missing": ("require('left-pad')", "Error: Cannot find module 'left-pad'"),
    "no network": (
        "fetch('http://host.invalid/').catch((e) => { throw e })",
        "getaddrinfo (ENOTFOUND|EAI_AGAIN) host.invalid",
    ),
    "no key": (
        "console.error('ACME_API_KEY environment variable is required');"
        "console.error('See the documentation for how to get one.'); process.exit(1)",
        "exit code 1: .ACME_API_KEY environment variable is required",
    ),
    "wrong argument": (
        "console.error(\"error: unknown option '--rot'\\n\\nUsage: server [options]\\n"
        '  --root  the folder (required)"); process.exit(2)',
        "exit code 2: .error: unknown option '--rot'",
    ),
    "too old": (
        "if (+process.versions.node.split('.')[0] < 999)"
        " throw new Error('This server requires Node.js 999 or newer')",
        "requires Node.js 999 or newer",
    ),
    "permission": (
        "require('fs').readFileSync(process.env.HOME + '/secret')",
        "EACCES: permission denied|EPERM: operation not permitted",
    ),
    "ends at once": ("process.exit(0)", "exit code 0"),
    "garbage": (
        "console.log('Server is running on port 3000'); setInterval(() => {}, 1000)",
        "does not answer: its standard output contains text that is not a message: "
        ".Server is running on port 3000",
    ),
    "reason on its output": (
        "console.log('Error: no licence'); process.exit(3)",
        "exit code 3: its standard output contains text that is not a message: .Error: no licence",
    ),
    "handshake": (
        HANDSHAKE % "null.version",
        r"exit code 1: .TypeError: Cannot read properties of null \(reading 'version'\)",
    ),
}


@pytest.mark.process
@pytest.mark.parametrize("case", FAILURES)
async def test_a_server_that_fails_says_why(tmp_path: Path, case: str) -> None:
    code, why = FAILURES[case]
    if case == "permission":
        if os.getuid() == 0:
            code = "throw new Error(\"EACCES: permission denied, open '/secret'\")"
        else:
            (tmp_path / "user" / ".nanobot" / "mcp" / "it").mkdir(parents=True)
    script = tmp_path / "server.js"
    script.write_text(code)
    seconds = 2.0 if case == "garbage" else 20.0
    settings = McpSettings(command=NODE, args=(str(script),), sandbox="off", timeout=seconds)
    with pytest.raises(NanobotError, match=why):
        await offered(tmp_path, settings, sandbox=False)


async def test_in_the_sandbox_a_missing_module_is_named(tmp_path: Path) -> None:
    """The last line of what Node writes is its version, the one before a bracket."""
    script = tmp_path / "server.js"
    script.write_text("require('left-pad')")
    settings = McpSettings(command=NODE, args=(str(script),), sandbox="bwrap", timeout=20.0)
    with pytest.raises(NanobotError, match="Cannot find module 'left-pad'"):
        await offered(tmp_path, settings)


@pytest.mark.parametrize(("mode", "why"), [(None, "No such file"), (0o600, "Permission denied")])
@pytest.mark.parametrize("sandbox", [True, False])
async def test_a_command_that_cannot_be_started_says_why(
    tmp_path: Path, mode: int | None, why: str, sandbox: bool
) -> None:
    command = tmp_path / "server"
    if mode is not None:
        command.write_text("#!/bin/sh\n")
        command.chmod(mode)
    settings = McpSettings(command=str(command), sandbox="bwrap" if sandbox else "off")
    with pytest.raises(NanobotError, match=f"cannot be started .{why}"):
        await offered(tmp_path, settings, sandbox=sandbox)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("}\n", "}"),
        (
            'Traceback (most recent call last):\n  File "/x.py", line 1, in <module>\n'
            "    import x\nModuleNotFoundError: No module named 'x'\n",
            "ModuleNotFoundError: No module named 'x'",
        ),
        (
            "TypeError: fetch failed\n    at node:internal/deps/undici:1\n  [cause]: Error: "
            "getaddrinfo ENOTFOUND a.b\n      at x {\n    errno: -3008,\n    code: 'ENOTFOUND'\n"
            "  }\n}\n\nNode.js v20.1.0\n",
            "[cause]: Error: getaddrinfo ENOTFOUND a.b",
        ),
        (
            "npm error code E404\nnpm error 404 Not Found - GET @acme/srver\nnpm error 404\n"
            "npm error A complete log of this run can be found in: /x.log\n",
            "npm error 404 Not Found - GET @acme/srver",
        ),
        ("loading\nstarting\n", "starting"),
    ],
)
def test_the_telling_line_is_found(text: str, line: str) -> None:
    assert telling_line(text) == line
