"""What happens by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.settings.base import Duration, Settings


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """`[lifecycle]`: what the model does when the gateway starts and stops."""

    enabled: bool = True
    boot_seconds: Duration = 120.0
    shutdown_seconds: Duration = 30.0
    wait_for_boot: bool = False


class HeartbeatSettings(Settings, frozen=True, kw_only=True):
    """`[heartbeat]`: looking after things at an interval, unasked."""

    enabled: bool = False


class HookSettings(Settings, frozen=True, kw_only=True):
    """`[hooks.NAME]`: what other services tell by HTTP."""

    enabled: bool = True


class EventsSettings(Settings, frozen=True, kw_only=True):
    """`[events]`: what happens on this machine."""

    enabled: bool = False


class QuietSettings(Settings, frozen=True, kw_only=True):
    """`[quiet]`: how much may be said unasked."""


class TriggerSettings(Settings, frozen=True, kw_only=True):
    """`[triggers.NAME]`: a trigger of another package. `type` is its entry point's name (the
    table's unless set), `to` the chat that hears the answers, as CHANNEL:ID ("": nobody does).
    `settings` holds what belongs to it, as written, references resolved."""

    type: str
    enabled: bool = True
    to: str = ""
    settings: Mapping[str, Any] = {}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of them is secret, only the trigger knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]
