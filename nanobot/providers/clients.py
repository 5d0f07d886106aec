"""The ways to models, by the names that `client` gives them: of the core, of plugins, of packages.

Each is named by location, and imported when the first model needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TypeVar

from nanobot.config.plugin_tables import Switched
from nanobot.config.settings.agent import CLIENTS
from nanobot.errors import ConfigError
from nanobot.providers.base import LLMProvider
from nanobot.providers.model_choice import EMBEDDED, MissingPlugin
from nanobot.providers.opening import Opening
from nanobot.seam.entry_points import Plugins
from nanobot.seam.installed import Interface, installed, provided
from nanobot.seam.plugin import Part, resolved
from nanobot.system import sparing_authorities

T = TypeVar("T")
LEAN = "lean"
_CORE: Mapping[str, Part] = {LEAN: "nanobot.providers.openai_compat:OpenAICompatProvider.opened"}
_OF_ENTRY_POINT = "nanobot.providers.plugins:open_provider"
_OF_PACKAGE = "nanobot.providers.plugins:open_plugged"


class Clients:
    """Opens providers. `which`: the plugins that are on, and why the others are off; None: all
    installed ones are on."""

    def __init__(self, packages: Plugins | None = None, which: Switched | None = None) -> None:
        self._packages = packages or Plugins()
        self._which = which

    @cached_property
    def _ways(self) -> Mapping[str, tuple[Part, str]]:
        """The function that opens each, and the package that it is from; "": nanobot."""
        ways = {name: (part, "") for name, part in _CORE.items()}
        on = installed().found if self._which is None else self._which.on
        for found in on.values():
            for name, part in found.plugin.providers.items():
                ways.setdefault(name, (part, found.package))
        return ways

    @cached_property
    def off(self) -> Mapping[str, MissingPlugin]:
        """The plugin of each of nanobot's clients that cannot be used."""
        plugins = installed()
        whys = {} if self._which is None else self._which.off
        off = {
            client: MissingPlugin(name, why)
            for name, why in whys.items()
            if name in plugins.found
            for client in plugins.found[name].plugin.providers
        }
        for broken in plugins.left_out:
            if broken.name in (*CLIENTS, EMBEDDED):
                missing = MissingPlugin(broken.name, f"It could not be loaded: {broken.why}")
                off.setdefault(broken.name, missing)
        return {client: why for client, why in off.items() if client not in self._ways}

    def provided(self, interface: Interface[T]) -> T | None:
        """The function that a plugin that is on provides for an interface."""
        return provided(interface, None if self._which is None else self._which.on)

    @sparing_authorities()
    def load(self, client: str) -> None:
        """Import one of nanobot's clients; on a thread, because some take long."""
        part, package = self._ways.get(client, (None, ""))
        if part is not None and not package:
            resolved(part)

    def open(self, opening: Opening) -> LLMProvider:
        """The provider of a choice. Raises ConfigError that lists the clients if there is none of
        that name, for settings that the client rejects, and for a broken client."""
        choice = opening.choice
        if missing := self.off.get(choice.client):
            raise ConfigError(
                f"{choice.provider_name}/{choice.model} needs the plugin {missing.plugin}. "
                f"{missing.why}"
            )
        part, package = self._ways.get(choice.client, (None, ""))
        provider: LLMProvider
        if part is None:
            known = ("auto", *self._ways)
            provider = resolved(_OF_ENTRY_POINT)(opening, self._packages, known)
        elif package:
            provider = resolved(_OF_PACKAGE)(opening, part, package)
        else:
            provider = resolved(part)(opening)
        return provider
