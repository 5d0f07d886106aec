"""The tools that find and call tools not listed in the prompt, because there are too many or they
were added later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from nanobot.errors import ToolArgumentsError
from nanobot.messages import Role
from nanobot.plugins.common.files.untrusted import FRAME_CHARS, untrusted
from nanobot.providers.base import ToolCall, ToolSpec
from nanobot.text import MAX_RESULT_CHARS, shorten
from nanobot.tools.arguments import decode_object
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool
from nanobot.tools.registry import ToolRegistry

CALL_TOOL = "call_tool"
MOST = 8
"""Maximum tools that one search describes in full."""
_WORD = re.compile(r"[a-z0-9]+")
_NAME_COUNTS = 3


class FindTools(msgspec.Struct, frozen=True):
    """Arguments of find_tools."""

    query: Annotated[str, msgspec.Meta(description="What it should do, in a few words")] = ""


class CallFoundTool(msgspec.Struct, frozen=True):
    """Arguments of call_tool."""

    name: Annotated[str, msgspec.Meta(description="Its name, as find_tools gives it")]
    arguments: Annotated[dict[str, Any], msgspec.Meta(description="What that tool takes")] = {}


def finding_tools(
    registry: ToolRegistry, sources: Sequence[str], roles: frozenset[Role]
) -> list[AnyTool]:
    """find_tools and call_tool for the lazy tools of a registry, which come from these sources.
    Their own descriptions never change when tools come and go.
    """

    async def find(args: FindTools, context: CallContext) -> str:
        every = registry.listed()
        specs = [spec for tool, spec, _ in every if tool.lazy and context.role in tool.allowed]
        best = _best(specs, args.query)
        room = MAX_RESULT_CHARS - FRAME_CHARS
        if best:
            text = "\n\n".join(map(_described, best))
        else:
            text = "\n".join(spec.name for spec in specs) or "(no server is connected now)"
        count = "1 tool" if len(specs) == 1 else f"{len(specs)} tools"
        note = f"{count} in all. Call one with {CALL_TOOL}, or by its name."
        return untrusted(shorten(text, room, "Search more narrowly."), "MCP servers", note)

    async def call(_: CallFoundTool, __: CallContext) -> str:
        # A valid call is replaced by the call it represents before it gets here.
        raise ToolArgumentsError("name: the name of another tool, as find_tools gives it")

    listed = ", ".join(sources)
    return [
        Tool(
            name="find_tools",
            description=(
                "Find tools that are not listed here, with what they take; without a query, all "
                f"their names. They belong to these MCP servers: {listed}."
            ),
            args=FindTools,
            run=find,
            effect=Effect.NONE,
            allowed=roles,
        ),
        Tool(
            name=CALL_TOOL,
            description="Call a tool that is not listed here, one that find_tools has told.",
            args=CallFoundTool,
            run=call,
            effect=Effect.NONE,
            taints=False,
            stands_for=_unwrapped,
            allowed=roles,
        ),
    ]


def _unwrapped(call: ToolCall) -> ToolCall:
    """The call that a call_tool represents; the call_tool itself if its arguments are invalid,
    which its execution then reports. Arguments given as text are parsed as JSON.
    """
    try:
        values = decode_object(call.arguments)
    except ToolArgumentsError:
        return call
    name, inner = values.get("name"), values.get("arguments")
    if not isinstance(name, str) or name in ("", CALL_TOOL):
        return call
    if not isinstance(inner, str):
        inner = msgspec.json.encode({} if inner is None else inner).decode()
    return ToolCall(call.id, name, inner)


def _best(specs: Sequence[ToolSpec], query: str) -> list[ToolSpec]:
    """The tools that share words with the query, best match first; partial words count less."""
    query_words = set(_WORD.findall(query.lower()))
    scored = [(_score(spec, query_words), spec) for spec in specs]
    best = sorted((row for row in scored if row[0]), key=lambda row: (-row[0], row[1].name))
    return [spec for _, spec in best[:MOST]]


def _score(spec: ToolSpec, query_words: set[str]) -> int:
    name, text = spec.name.lower(), spec.description.lower()
    names, words = set(_WORD.findall(name.replace("_", " "))), set(_WORD.findall(text))
    score = 0
    for word in query_words:
        if word in names:
            score += 2 * _NAME_COUNTS
        elif word in words:
            score += 2
        elif len(word) > _NAME_COUNTS - 1 and word in name:
            score += _NAME_COUNTS
        elif len(word) > _NAME_COUNTS and word in text:
            score += 1
    return score


def _described(spec: ToolSpec) -> str:
    schema = msgspec.json.encode(spec.parameters).decode()
    return f"{spec.name}: {spec.description}\nparameters: {schema}"
