"""The built-in plugins, one folder each. Other packages provide plugins in the same way.

The names below are kept for old imports; new code imports them from `nanobot.seam`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanobot.seam.entry_points import BrokenPlugin, LoadedPlugin, Plugins

__all__ = ["BrokenPlugin", "LoadedPlugin", "Plugins"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # 60 ms, which the process that reads a document would spend for each.
    from nanobot.seam import entry_points  # noqa: PLC0415

    return getattr(entry_points, name)
