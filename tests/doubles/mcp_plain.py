"""An MCP server over stdio that is written by hand: it starts at once, and may break the rules.

python -m tests.doubles.mcp_plain FOLDER; it writes its pid into FOLDER.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a"],
}
BARE = {"type": "object"}
TOOLS: list[Any] = [
    {"name": "add", "inputSchema": NUMBERS, "annotations": {"readOnlyHint": True}},
    {"name": "pid", "inputSchema": BARE, "annotations": {"readOnlyHint": "yes"}},
    {"name": "huge", "inputSchema": BARE, "title": 7},
    {"name": "hang", "inputSchema": BARE},
    {"name": "die", "inputSchema": BARE},
    {"name": "late", "inputSchema": BARE, "_meta": "none"},
    {"name": "offspring", "inputSchema": BARE, "outputSchema": "none"},
    {"name": "halves", "inputSchema": BARE},
    # What follows is not as the protocol says.
    {"name": "text", "inputSchema": {"type": "string"}},
    {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": None, "b": 5}}},
    {"name": "bare"},
    {"name": None, "inputSchema": BARE},
    "no tool at all",
]
NAMES = ("add", "bare", "die", "halves", "hang", "huge", "late", "odd", "offspring", "pid", "text")


def say(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def late() -> str:
    TOOLS.append({"name": "extra", "description": "Came late.", "inputSchema": BARE})
    say(method="notifications/tools/list_changed")
    return "added"


def die() -> str:
    sys.stderr.write("the double was told to die\n")
    sys.stderr.flush()
    os._exit(3)


SAYS: dict[str, Callable[[dict[str, Any]], str]] = {
    "add": lambda arguments: str(arguments["a"] + (arguments.get("b") or 1)),
    "pid": lambda _: str(os.getpid()),
    "huge": lambda _: "x" * 17_000_000,
    "die": lambda _: die(),
    "late": lambda _: late(),
    "offspring": lambda _: str(subprocess.Popen(["sleep", "300"]).pid),
    "halves": lambda _: "one half \ud83d of it",
}


def tool_text(name: str, arguments: dict[str, Any]) -> str | None:
    """What a tool says; None: nothing, ever."""
    if name == "hang":
        return None
    return SAYS[name](arguments) if name in SAYS else name


def answer(request: dict[str, Any]) -> None:
    number, params = request["id"], request.get("params", {})
    match request["method"]:
        case "initialize":
            version = params["protocolVersion"]
            who = {"name": "plain", "version": "1"}
            can = {"tools": {"listChanged": True}}
            result = {"protocolVersion": version, "capabilities": can, "serverInfo": who}
            say(id=number, result=result)
        case "tools/list":
            say(id=number, result={"tools": TOOLS})
        case "tools/call":
            text = tool_text(params["name"], params.get("arguments") or {})
            if text is not None:
                say(id=number, result={"content": [{"type": "text", "text": text}]})
        case other:
            say(id=number, error={"code": -32601, "message": f"no {other}"})


def main() -> None:
    (Path(sys.argv[1]) / "pid").write_text(str(os.getpid()))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer(request)


if __name__ == "__main__":
    main()
