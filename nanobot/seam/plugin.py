"""What a plugin is: everything of one capability, in one struct.

A plugin is cheap to import. What is heavy is named by functions, or by their places as
"package.module:function", which are loaded and called only where the plugin is on.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, TypeAlias

import msgspec

from nanobot.errors import PluginBroken

Part: TypeAlias = Callable[..., Any] | str
"""A function of a plugin, or its place. It is called with what its parameters ask for, by their
types; see `offers`."""

FUNCTIONS = (
    *("operations", "tools", "policy", "triggers", "run_types", "stages", "store_hooks"),
    *("events", "routes", "page", "metrics", "checks", "start", "fits"),
    *("deliveries", "exposures"),
)
"""The fields that hold a Part."""


def nothing_hinders(_: Any) -> str:
    """A plugin that has something to do whatever its settings are."""
    return ""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """One capability. A field that is left out brings nothing; docs/plugins.md says what the
    functions take and return."""

    name: str
    """Its entry point, its table of the configuration and its path over HTTP."""
    summary: str
    """What it is for, in one sentence."""
    requires: tuple[str, ...] = ()
    """The plugins without which it is off."""
    packages: tuple[str, ...] = ()
    """The Python packages without which it is off, by the names they are imported by."""
    after: tuple[str, ...] = ()
    """The plugins that come before it, if they are there."""
    settings: type[msgspec.Struct] | None = None
    """Its table `[NAME]`: a subclass of nanobot.config.settings.base.Settings, every key with a
    default."""
    named: bool = False
    """Whether its table holds several of these settings, each below a name that people choose:
    `[NAME.theirs]`. Its functions ask for `Mapping[str, TheSettings]`."""
    idle: Callable[[Any], str] = nothing_hinders
    """Why it is off with these settings, as a sentence; empty if it is on."""
    fits: Part | None = None
    """Says what of its settings does not fit the rest of the configuration: gives findings, or
    raises ConfigError. What is broken hinders a start."""
    migrations: tuple[Part, ...] = ()
    """The revisions of its tables, each a statement of SQL or a function of a connection. Revisions
    are added and never edited; every table's name begins with that of the plugin."""
    operations: Part | None = None
    """Gives operations: commands of the command line and of chats, routes over HTTP."""
    tools: Part | None = None
    """Gives tools for the model."""
    policy: Part | None = None
    """Gives rules of the policy, which come after those of the configuration."""
    triggers: Part | None = None
    """Gives triggers by name: what acts by itself."""
    run_types: Part | None = None
    """Gives kinds of background work."""
    stages: Part | None = None
    """Gives functions that precede the acting of a run."""
    store_hooks: Part | None = None
    """Gives what takes part in the transactions that end runs."""
    events: Part | None = None
    """Gives functions that are called with each event of a run."""
    routes: Part | None = None
    """Gives routes over HTTP below `/plugins/NAME`."""
    deliveries: Part | None = None
    """Gives what takes requests of other services; see `nanobot.seam.faces.Deliveries`."""
    exposures: Part | None = None
    """Gives what `nanobot security audit` says of it."""
    page: Part | None = None
    """Gives views of the page."""
    metrics: Part | None = None
    """Gives families of metrics for `/metrics`."""
    checks: Part | None = None
    """Gives what `nanobot doctor` says of it."""
    start: Part | None = None
    """Gives an asynchronous context manager that lives as long as the gateway serves."""

    def brings(self) -> list[str]:
        """The kinds of things that it brings, as people read them."""
        brought = (name for name in FUNCTIONS if name != "fits")
        fields = [name for name in brought if getattr(self, name) is not None]
        kept = ["tables"] if self.migrations else []
        return [name.replace("_", " ") for name in (*kept, *fields)]


def resolved(part: Part) -> Callable[..., Any]:
    """The function that a part names. Raises PluginBroken, and whatever its import raises."""
    function = resolve_name(part) if isinstance(part, str) else part
    if not callable(function):
        raise PluginBroken(f"{part} is a {type(function).__name__}, not a function")
    return function
