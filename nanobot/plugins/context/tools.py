"""The operation that lists the tools of the model."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from nanobot.messages import Role
from nanobot.operations.operation import Caller, OperationContext, operation


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may use; `effect` is none, store or world. `source`: built-in, plugin
    PACKAGE or mcp SERVER. `roles`: whose runs may use it, best first; the policy may still ask."""

    SHOWN: ClassVar[tuple[str, ...]] = ("name", "description", "roles", "effect", "source")

    name: str
    source: str
    effect: str
    roles: list[Role]
    description: str
    parameters: dict[str, Any]


@operation("tools list", reads=True)
async def list_tools(context: OperationContext, _: Caller) -> list[ToolView]:
    """List the tools that the model may use."""
    return [
        ToolView(
            name=spec.name,
            source=source,
            effect=str(tool.effect),
            roles=[role for role in Role if role in tool.allowed],
            description=spec.description,
            parameters=spec.parameters,
        )
        for tool, spec, source in context.engine.tools.listed()
    ]
