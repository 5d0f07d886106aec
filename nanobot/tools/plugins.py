"""Tools from other packages, found through the entry point group `nanobot.tools`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.seam.entry_points import TOOLS, LoadedPlugin, Plugins
from nanobot.seam.installed import installed
from nanobot.tools.base import AnyTool, Effect, RawArgs, Tool
from nanobot.tools.registry import ToolRegistry


def register_installed(registry: ToolRegistry, plugins: Plugins) -> None:
    """Register installed tools: each entry point is a Tool, a list of them, or a function without
    arguments that returns either. An entry point that is broken, or that uses a taken name, is
    skipped with all its tools; it never prevents the start.
    """

    def use(plugin: LoadedPlugin) -> None:
        source = f"plugin {plugin.package or plugin.name}"
        register_together(registry, offered(plugin.what), source)

    plugins.each(TOOLS, use)


def register_together(registry: ToolRegistry, tools: Iterable[AnyTool], source: str) -> None:
    """Register all of these tools, or none of them. Raises UsageError."""
    registered: list[str] = []
    try:
        for tool in tools:
            registry.register(tool, source=source)
            registered.append(tool.name)
    except UsageError:
        for name in registered:
            registry.unregister(name)
        raise


def offered(loaded: Any, *, own: bool = False) -> list[AnyTool]:
    """The tools of an entry point, or of a plugin (`own`: one of ours). Raises UsageError that
    describes the error.
    """
    given = loaded() if callable(loaded) else loaded
    tools = [given] if not isinstance(given, Iterable) else list(given)
    for tool in tools:
        if not isinstance(tool, Tool):
            kind = type(tool).__name__
            raise UsageError(f"it gives a {kind}, not a nanobot.tools.base.Tool")
        wrong = trouble(tool)
        if wrong:
            raise UsageError(f"the tool {str(tool.name)[:64]!r} cannot be used: {wrong}")
        if not own and _is_reserved(tool.name):
            raise UsageError(f"the name {tool.name} is taken: it is one of nanobot's own")
    # Lazy tools are found with a tool of the plugin that adds them.
    return [msgspec.structs.replace(tool, lazy=False) for tool in tools]


def _is_reserved(name: str) -> bool:
    """Whether packages cannot give that name to their tools, because policy rules refer to it."""
    own = (found.plugin for found in installed().found.values() if not found.package)
    patterns = [pattern for plugin in own for pattern in plugin.reserves]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def trouble(tool: Any) -> str:
    """The error in a tool's definition; "" if there is none."""
    is_struct = isinstance(tool.args, type) and issubclass(tool.args, msgspec.Struct)
    roles = isinstance(tool.allowed, frozenset) and all(role in set(Role) for role in tool.allowed)
    seconds = isinstance(tool.timeout, int | float) and 0 < tool.timeout < math.inf
    promises = (
        (isinstance(tool.name, str), "its name is not text"),
        (isinstance(tool.description, str) and tool.description.strip(), "it has no description"),
        (is_struct, "args is not a msgspec.Struct"),
        (tool.parameters is None or tool.args is RawArgs, "with parameters, args must be RawArgs"),
        (callable(tool.run), "run is not a function"),
        (isinstance(tool.effect, Effect), "effect is not one of nanobot.tools.base.Effect"),
        (seconds, "timeout is not a number of seconds above 0"),
        (roles and tool.allowed, "allowed is not a frozenset of roles"),
    )
    return next((why for holds, why in promises if not holds), "")
