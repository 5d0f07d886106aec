"""Promised import paths that have no module: a `.pyi` says where their names are, to type checkers
and to programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from warnings import warn

# Documented paths of the first builds, which go with 0.2. Type checkers do not know them.
OUTDATED = {
    "nanobot.cron.service": "nanobot.triggers.cron.service",
    "nanobot.session.manager": "nanobot.plugins.library.sessions",
    "nanobot.tasks.port": "nanobot.session.tasks",
    "nanobot.tasks.types": "nanobot.agent.tasks.types",
}


def promised() -> Iterator[tuple[str, str]]:
    """Each promised path, with the module that it leads to."""
    from pathlib import Path  # noqa: PLC0415 - see names_in

    root = Path(__file__).parent
    for stub in sorted(root.rglob("*.pyi")):
        if stub.stem != "__init__":
            parts = ("nanobot", *stub.relative_to(root).with_suffix("").parts)
            yield ".".join(parts), _module_in(str(stub))


def names_in(stub: str) -> dict[str, str]:
    """The names that a stub imports, each with its module; none if there is no stub."""
    try:
        with open(stub, encoding="utf-8") as file:  # noqa: PTH123 - pathlib loads re, for --version
            lines = [line.split() for line in file if line.startswith("from ")]
    except OSError:
        return {}
    return {words[3]: words[1] for words in lines}


def _module_in(stub: str) -> str:
    """The module that a stub of a promised path imports from; "" if there is no stub."""
    return next(iter(names_in(stub).values()), "")


class Promised:
    """Finds these paths after all other finders. Each looks up its names in the module of its stub,
    and imports it with the first of them."""

    def find_spec(
        self, name: str, path: Iterable[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Find only these paths, and the packages of outdated ones."""
        within = any(old.startswith(f"{name}.") for old in OUTDATED)
        if name in OUTDATED or within:
            return ModuleSpec(name, self, is_package=within)  # type: ignore[arg-type]
        if not name.startswith("nanobot."):
            return None
        for folder in path or ():
            if there := _module_in(f"{folder}/{name.rpartition('.')[2]}.pyi"):
                return ModuleSpec(name, self, origin=there)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the import system create the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the names of the other one."""
        path, spec = module.__name__, module.__spec__
        if path in OUTDATED:
            now = OUTDATED[path]
            warn(f"{path} is now {now}; the old path goes with 0.2", DeprecationWarning, 2)
            sys.modules[path] = import_module(now)
        elif spec is not None and spec.origin is not None:
            module.__doc__ = f"The import path of what is in {spec.origin}."
            vars(module)["__getattr__"] = names_of(spec.origin, path)


def names_of(module: str, path: str) -> Callable[[str], object]:
    """The `__getattr__` of the module `path`, which has the names of `module`. Without the plugin
    of that one, it raises ImportError."""

    def found(name: str) -> object:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        try:
            there = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            plugin = module.split(".")[2]
            shared = plugin == "common"
            owner = "built-in plugins, which are" if shared else f"plugin {plugin}, which is"
            raise ImportError(f"{path} belongs to the {owner} not there") from None
        if name == "__all__" and not hasattr(there, name):
            return [each for each in vars(there) if not each.startswith("_")]
        try:
            return getattr(there, name)
        except AttributeError:
            raise AttributeError(f"module {path!r} has no attribute {name!r}") from None

    return found
