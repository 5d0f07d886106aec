"""Every tool of an assembled gateway is either known to reach nothing, or asks in a conversation
that has seen content from outside. A tool that is added is a sink until its example
(`tests/tools/examples.py`) says that it is none."""

from __future__ import annotations

import json
from typing import Any

from tests.doubles.web_server import WebServer
from tests.process.harness import World
from tests.security.chain_steps import SECRET, SERVER, begin
from tests.tools.examples import TEXT, examples

EXAMPLES = examples()
INSIDE = {name for name, example in EXAMPLES.items() if example.inside}
"""Tools without a way out."""
CALLS: dict[str, dict[str, Any]] = {
    name: json.loads(json.dumps(example.leaving).replace(TEXT, SECRET))
    for name, example in EXAMPLES.items()
    if example.leaving
}
"""Calls whose way out depends on their arguments. All others are made from the tool's schema."""
ONLINE_ONLY = {"process": "the command of that number has to be running with the network"}


async def test_every_tool_reaches_nothing_or_asks(world: World, site: WebServer) -> None:
    await begin(world, site)
    listed = json.loads((await world.run("tools", "list", "--json")).output)
    assert {tool["name"] for tool in listed} >= {*CALLS, SERVER, "spawn", "memory_save"}
    asked, allowed = set[str](), set[str]()
    for tool in listed:
        name = tool["name"]
        if name in INSIDE:
            assert tool["effect"] == "none" or name in ("ask_user", "skill", "call_tool"), name
            continue
        call = json.dumps(CALLS.get(name) or generated(tool))
        verdict = await explained(world, name, call, "--tainted")
        if verdict == "ask":
            asked.add(name)
        if await explained(world, name, call) == "allow":
            allowed.add(name)
    sinks = {tool["name"] for tool in listed} - INSIDE
    assert asked == sinks - set(ONLINE_ONLY), (
        "say what a new tool does `inside`, or have the policy ask"
    )
    assert allowed >= sinks - set(ONLINE_ONLY) - {"exec"}, "the questions show nothing otherwise"


async def explained(world: World, name: str, call: str, *options: str) -> str:
    told = await world.run("policy", "explain", name, call, *options, "--json")
    assert told.code == 0, told.errors
    return str(json.loads(told.output)["verdict"])


def generated(tool: dict[str, Any]) -> dict[str, Any]:
    """Arguments that carry the secret wherever there is text."""
    schema = tool["parameters"]
    values: dict[str, Any] = {}
    for name, kind in schema.get("properties", {}).items():
        if kind.get("type") == "string" and "enum" not in kind:
            values[name] = SECRET
        elif name in schema.get("required", []):
            values[name] = kind.get("enum", [1])[0]
    return values
