"""Tools as they are described to models, in OpenAI's format."""

from __future__ import annotations

from typing import TypedDict


class FunctionSpec(TypedDict):
    """A function as described to a model; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]


class ToolDefinition(TypedDict):
    """One entry of the list of tools: `type` is function."""

    type: str
    function: FunctionSpec
