"""The core has no module that only plugins use: that is in the plugin, or in `plugins/common`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.syntax import ROOT, SOURCES, nodes

CORE = {
    file
    for file in SOURCES
    if file.is_relative_to(ROOT / "nanobot")
    and not file.is_relative_to(ROOT / "nanobot" / "plugins")
}

# What is used without a module of the core that imports it, by its module, or by the package of
# such modules with a dot at the end; and why it is in the core. None may be added without a reason.
ENTRANCES: Mapping[str, str] = {
    "nanobot.__main__": "the command `nanobot`, and `python -m nanobot`",
    "nanobot.testing": "imported by tests of packages",
    "nanobot.pytest_cases": "loaded by pytest, in pyproject.toml",
    "nanobot.store.database.migrations.": "loaded by alembic, from its folder",
}


def module_of(file: Path) -> str:
    path = file.relative_to(ROOT).with_suffix("").as_posix()
    return path.removesuffix("/__init__").replace("/", ".")


def named(file: Path) -> Iterator[str]:
    """The modules that a file imports, or names in a text of their own, as "module:name"."""
    for node in nodes(file):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                yield module
                yield from (f"{module}.{alias.name}" for alias in aliases)
            case ast.Constant(value=str(text)) if text.startswith("nanobot."):
                yield text.partition(":")[0]


@cache
def core() -> dict[str, Path]:
    return {module_of(file): file for file in CORE}


@cache
def reached(*entrances: str) -> frozenset[str]:
    """The modules of the core that these lead to, with the packages around them."""
    found = set[str]()
    left = list(entrances)
    while left:
        module = left.pop()
        if module in core() and module not in found:
            found.add(module)
            left += [*named(core()[module]), module.rpartition(".")[0]]
    return frozenset(found)


def entrances(names: Iterator[str] | Mapping[str, str]) -> list[str]:
    """The modules behind such names."""
    return [
        module
        for name in names
        for module in sorted(core())
        if module == name or (name.endswith(".") and module.startswith(name))
    ]


def test_a_module_that_only_plugins_use_is_not_in_the_core() -> None:
    alone = core().keys() - reached(*entrances(ENTRANCES))
    assert alone == set(), "move it to `plugins/common`, or to the one plugin that uses it"


def test_each_entrance_is_needed_and_there() -> None:
    """What the core uses, or nobody has any more, must leave the list."""
    for name in ENTRANCES:
        others = reached(*entrances(each for each in ENTRANCES if each != name))
        assert set(entrances(iter([name]))) - others, name


def test_the_shared_code_is_used_by_several_plugins() -> None:
    """What one plugin uses belongs to that one."""
    plugins = ROOT / "nanobot" / "plugins"
    shared = {module_of(file): file for file in SOURCES if file.is_relative_to(plugins / "common")}
    users: dict[str, set[str]] = {module: set() for module in shared}
    for file in SOURCES:
        if file.is_relative_to(plugins) and file.parent != plugins:
            owner = module_of(file).split(".")[2]
            user = module_of(file) if owner == "common" else owner
            for module in users.keys() & set(named(file)) - {module_of(file)}:
                users[module].add(user)
    few = {
        module: sorted(found)
        for module, found in users.items()
        if len(found) < 2
        and shared[module].name != "__init__.py"
        and not any(user in shared for user in found)
    }
    assert few == {}
