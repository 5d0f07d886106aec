"""What the schemas of the HTTP API say more exactly than the types behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

import msgspec
from msgspec import inspect

from nanobot.plugins.common.http.route_description import ByOtherRules
from nanobot.session.entries import Body

_Json: TypeAlias = dict[str, Any]
BODIES = get_args(Body)
"""What an entry of a log may be, by its kind."""


def with_all_fields(
    components: Mapping[str, _Json], answers: Iterable[Any], taken: Iterable[Any]
) -> dict[str, _Json]:
    """The components, where what only occurs in answers requires all its fields: a field with a
    default may be left out by a client, but the gateway always sends it. `ByOtherRules`
    stay as they are."""
    complete = {
        name
        for kind in _structs(answers) - _structs(taken)
        if not kind.__struct_config__.omit_defaults and not issubclass(kind, ByOtherRules)
        for name in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}")
    }
    return {
        name: schema | {"required": list(schema["properties"])}
        if name in complete and schema.get("properties")
        else schema
        for name, schema in components.items()
    }


def by_kind(entry: _Json, reference: str) -> _Json:
    """The schema of an entry of a log: what its body has depends on its kind."""
    kinds = [
        entry["properties"]
        | {
            "kind": {"const": kind.__struct_config__.tag},
            "body": {"anyOf": [{"$ref": reference.format(name=kind.__name__)}, {"type": "null"}]},
        }
        for kind in BODIES
    ]
    about = {name: entry[name] for name in ("title", "description")}
    common = {"type": "object", "required": entry["required"]}
    return about | {"anyOf": [common | {"properties": properties} for properties in kinds]}


def _structs(types: Iterable[Any]) -> set[type[msgspec.Struct]]:
    """All structs within these types."""
    found: set[type[msgspec.Struct]] = set()
    left: list[Any] = list(inspect.multi_type_info(list(types)))
    while left:
        match left.pop():
            case inspect.StructType(cls=cls, fields=fields):
                if cls not in found:
                    found.add(cls)
                    left += [field.type for field in fields]
            case inspect.UnionType(types=types_):
                left += types_
            case inspect.TypedDictType(fields=fields) | inspect.DataclassType(fields=fields):
                left += [field.type for field in fields]
            case inspect.DictType(key_type=key, value_type=value):
                left += [key, value]
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                left.append(item)
            case inspect.TupleType(item_types=items):
                left += items
            case inspect.Metadata(type=inner):
                left.append(inner)
            case _:
                pass
    return found
