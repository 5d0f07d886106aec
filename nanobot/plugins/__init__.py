"""The built-in plugins, one folder each. Packages of others bring theirs in the same way.

The names below are where they were before; new code imports them from `nanobot.seam`."""

from nanobot.seam.entry_points import BrokenPlugin, LoadedPlugin, Plugins

__all__ = ["BrokenPlugin", "LoadedPlugin", "Plugins"]
