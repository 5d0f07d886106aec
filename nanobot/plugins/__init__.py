"""The built-in plugins, one folder each. Other packages provide plugins in the same way.

The names below are kept for old imports; new code imports them from `nanobot.seam`.
"""

from nanobot.seam.entry_points import BrokenPlugin, LoadedPlugin, Plugins

__all__ = ["BrokenPlugin", "LoadedPlugin", "Plugins"]
