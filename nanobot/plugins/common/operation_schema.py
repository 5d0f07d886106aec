"""JSON Schemas of the arguments of operations, for other programs."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.operations.operation import Operation
from nanobot.operations.parameters import LARGEST, Parameter


def schema_of(operation: Operation) -> dict[str, Any]:
    """The JSON Schema of an object with the arguments of an operation."""
    properties = {}
    for parameter in operation.parameters:
        rule = rule_of(parameter)
        properties[parameter.name] = (
            rule if parameter.required else rule | {"default": parameter.default}
        )
    return {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in operation.parameters if parameter.required],
        "additionalProperties": False,
    }


def rule_of(parameter: Parameter) -> dict[str, Any]:
    """The JSON Schema of one argument."""
    rule = msgspec.json.schema(parameter.hint)
    bounds = {"minimum": -LARGEST, "maximum": LARGEST}
    return bounds | rule if rule.get("type") == "integer" else rule
