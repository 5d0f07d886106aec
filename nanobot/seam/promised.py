"""Promised import paths of what plugins bring. A file of the same name that ends in .pyi says the
same to type checkers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def from_plugin(path: str, plugin: str, module: str) -> Callable[[str], object]:
    """The `__getattr__` of the module `path`, whose contents are in a module of a plugin, or in one
    that several share (`plugin` is empty)."""
    owner = f"the plugin {plugin}, which is" if plugin else "the built-in plugins, which are"

    def found(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        try:
            there = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            raise ImportError(f"{path} belongs to {owner} not there") from None
        try:
            return getattr(there, name)
        except AttributeError:
            raise AttributeError(f"module {path!r} has no attribute {name!r}") from None

    return found
