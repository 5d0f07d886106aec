"""The plugin that says what accompanies the requests of runs, and what is kept of those that begin
them."""

from __future__ import annotations

from typing import Any

from nanobot.app.plugged import Plugged
from nanobot.boundary import boundary
from nanobot.errors import PluginBroken
from nanobot.propagation import Headers, Propagation, Propagator, Step
from nanobot.seam.given import able, of_kind
from nanobot.seam.installed import FoundPlugin


def bring_propagator(plugged: Plugged, propagation: Propagation) -> None:
    """Have the plugin that says what accompanies the requests of runs do so. There is at most
    one."""

    def use(found: FoundPlugin, given: Any) -> None:
        if given is None:
            return
        able(given, Propagator)
        if propagation.propagator is not None:
            raise PluginBroken("another plugin says already what accompanies requests")
        propagation.propagator = _Accompanying(found.name, given)

    plugged.each("propagation", use)


class _Accompanying:
    """A Propagator of a plugin. If it fails, requests are made and taken without it."""

    def __init__(self, name: str, propagator: Propagator) -> None:
        self._what = f"propagation of the plugin {name}"
        self._propagator = propagator

    def received(self, headers: Headers, *, trusted: bool) -> str:
        with boundary(self._what):
            return of_kind(self._propagator.received(headers, trusted=trusted), str)
        return ""

    def sent(self, step: Step) -> Headers:
        with boundary(self._what):
            sent = self._propagator.sent(step).items()
            return {of_kind(name, str): of_kind(value, str) for name, value in sent}
        return {}
