"""The tools a run may call: their schemas for the model, and one checked way to execute them."""

from __future__ import annotations

import asyncio
import copy
import difflib
import re
from typing import Any

from nanobot.bus.events import Role
from nanobot.errors import ToolDenied, ToolTimeout, ToolUnknown, UsageError
from nanobot.providers.base import ToolSpec
from nanobot.tools.arguments import parse_arguments
from nanobot.tools.base import AnyTool, CallContext, Effect
from nanobot.tools.result import MAX_RESULT_CHARS, clean, quoted, shorten
from nanobot.tools.schema import parameters_of

# What every OpenAI-compatible endpoint accepts as a function's name.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ToolRegistry:
    """Tools by name. What it lists is sorted, and the same bytes as long as the tools are."""

    def __init__(self, max_result_chars: int = MAX_RESULT_CHARS) -> None:
        self._max_result_chars = max_result_chars
        self._tools: dict[str, AnyTool] = {}
        self._specs: dict[str, ToolSpec] = {}

    def register(self, tool: AnyTool) -> None:
        """Offer a tool. Raises UsageError if its name is taken or unfit, or it has no schema."""
        if _NAME.fullmatch(tool.name) is None:
            raise UsageError(
                f"a tool cannot be named {quoted(tool.name)}: letters, digits, _ and -"
            )
        if tool.name in self._tools:
            raise UsageError(f"a tool named {tool.name} is registered already")
        self._specs[tool.name] = ToolSpec(tool.name, tool.description, parameters_of(tool.args))
        self._tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Offer it no longer. Raises UsageError if there is none of that name."""
        if self._tools.pop(name, None) is None:
            raise UsageError(f"there is no tool named {quoted(name)}")
        del self._specs[name]

    def specs(self, role: Role | None = None) -> tuple[ToolSpec, ...]:
        """What a sender of this role may use (None: everything), sorted by name."""
        return tuple(self._specs[name] for name in self._names(role))

    def get_definitions(self, role: Role | None = None) -> list[dict[str, Any]]:
        """The same in OpenAI's function format. The caller may change what it gets."""
        return [
            {
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": copy.deepcopy(spec.parameters),
                },
            }
            for spec in self.specs(role)
        ]

    def effect(self, name: str) -> Effect | None:
        """What a call of this tool leaves behind; None if there is no such tool."""
        tool = self._tools.get(name)
        return None if tool is None else tool.effect

    def taints(self, name: str) -> bool:
        """Whether results of this tool are content from outside."""
        return name in self._tools and self._tools[name].taints

    async def execute(self, name: str, arguments: str, context: CallContext) -> str:
        """Run one call with the model's own text as arguments, and return the text for the model.

        The result can be encoded as UTF-8 and is no longer than the registry allows. What the
        model can mend or must accept is raised as a ToolError: ToolUnknown, ToolDenied,
        ToolArgumentsError, ToolTimeout, or the tool's own. Anything else the tool raises is a
        fault of the tool and goes through.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ToolUnknown(self._unknown(name, context.role))
        if context.role not in tool.allowed:
            raise ToolDenied(f"{name} may not be used for a {context.role}")
        args = parse_arguments(tool.args, arguments)
        limit = asyncio.timeout(tool.timeout)
        try:
            async with limit:
                result = await tool.run(args, context)
        except TimeoutError as error:
            # A TimeoutError of the tool's own (a socket's, say) is its fault, not this limit.
            if not limit.expired():
                raise
            raise ToolTimeout(f"{name} took over {tool.timeout:g} s and was stopped") from error
        return shorten(clean(result), self._max_result_chars, tool.rest)

    def _names(self, role: Role | None) -> list[str]:
        return sorted(
            name for name, tool in self._tools.items() if role is None or role in tool.allowed
        )

    def _unknown(self, name: str, role: Role) -> str:
        names = self._names(role)
        near = difflib.get_close_matches(name[:64], names, n=3, cutoff=0.5)
        if near:
            return f"there is no tool {quoted(name, 64)}. Did you mean {' or '.join(near)}?"
        return f"there is no tool {quoted(name, 64)}. There are: {', '.join(names) or 'none'}."
