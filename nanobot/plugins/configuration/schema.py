"""JSON Schema of the configuration file, for editors."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN

_SECRET = {"type": "string", "pattern": r"^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+)$"}
_OF_THE_KEY = ("default", "description", "unit", "applies")


def schema() -> dict[str, Any]:
    """JSON Schema of config.toml, for editors. Any value may refer to a variable or a file."""
    rules = msgspec.json.schema(config_file())
    definitions = rules["$defs"]
    for definition in definitions.values():
        open_to_more = definition["properties"].pop(OPEN, None) is not None
        if open_to_more:
            definition.pop("required", None)
        definition["additionalProperties"] = open_to_more
        definition["properties"] = {
            key: _or_reference(rule) for key, rule in definition["properties"].items()
        }
    for table, keys in (
        (definitions["ChannelSettings"], ("owners", "members", "guests")),
        (definitions["ChatSettings"], ("members",)),
    ):
        for key in keys:
            table["properties"][key]["items"] = {"type": ["string", "integer"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **rules}


def _or_reference(rule: dict[str, Any]) -> dict[str, Any]:
    told = {name: rule.pop(name) for name in _OF_THE_KEY if name in rule}
    if rule.get("type") in ("number", "integer", "boolean") or "enum" in rule:
        return {"anyOf": [rule, _SECRET]} | told
    return rule | told
