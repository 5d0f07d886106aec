"""An MCP server that another program updates: what it offers is what a file says.

python -m tests.doubles.mcp_fickle FOLDER: FOLDER/tools.json holds descriptions by tool. Each call
is noted in FOLDER/calls, and answered with FOLDER/answer.txt if there is one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def result(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            who = {"name": "fickle", "version": "1"}
            version = params["protocolVersion"]
            can = {"tools": {"listChanged": True}}
            return {"protocolVersion": version, "capabilities": can, "serverInfo": who}
        case "tools/list":
            said = json.loads((folder / "tools.json").read_text()).items()
            bare = {"type": "object", "properties": {"text": {"type": "string"}}}
            tools = [{"name": n, "description": d, "inputSchema": bare} for n, d in said]
            return {"tools": tools}
        case "tools/call":
            with (folder / "calls").open("a") as calls:
                calls.write(f"{params['name']} {json.dumps(params.get('arguments'))}\n")
            said = folder / "answer.txt"
            text = said.read_text() if said.exists() else "It is kept."
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer = result(Path(sys.argv[1]), request)
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}), flush=True)


if __name__ == "__main__":
    main()
