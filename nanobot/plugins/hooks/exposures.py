"""What a sender who knows a webhook's secret could reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nanobot.plugins.common.exposures import Exposure, Level
from nanobot.plugins.hooks.settings import HookSettings

_SHORTEST_SECRET = 16


def exposures(hooks: Mapping[str, HookSettings]) -> Iterator[Exposure]:
    """The exposure of each enabled webhook."""
    for name, hook in hooks.items():
        if not hook.enabled:
            continue
        powerful = hook.role == "owner" and hook.tools != ("none",)
        weak = len(hook.secret) < _SHORTEST_SECRET
        level: Level = "danger" if weak and powerful else "risk" if weak or powerful else "note"
        yield Exposure(
            attacker="stranger",
            level=level,
            reaches=f"hooks.{name}: anyone with its secret can start a tainted run as {hook.role}"
            + (f", and the secret has {len(hook.secret)} characters" if weak else ""),
            remedy=f'Set hooks.{name}.role = "guest" and a longer secret.'
            if level != "note"
            else "",
        )
