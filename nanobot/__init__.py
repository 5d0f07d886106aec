"""nanobot: a self-hosted assistant that lives where its people already talk."""

from __future__ import annotations

import sys
from importlib import import_module

from nanobot.promised import Promised, names_in

__version__ = "0.1.0"

sys.meta_path.append(Promised())


# What programs use is in __init__.pyi, and loaded when it is named.
def __getattr__(name: str) -> object:
    public = names_in(f"{__path__[0]}/__init__.pyi")
    if name == "__all__":
        return ["__version__", *public]
    if name not in public:
        raise AttributeError(f"module 'nanobot' has no attribute {name!r}")
    return getattr(import_module(public[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
