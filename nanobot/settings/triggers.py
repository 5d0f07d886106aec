"""What happens by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from nanobot.settings.base import Count, Duration, Settings


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """`[lifecycle]`: what the model does when the gateway starts and stops."""

    enabled: bool = True
    boot_seconds: Duration = 120.0
    shutdown_seconds: Duration = 30.0
    wait_for_boot: bool = False


class HeartbeatSettings(Settings, frozen=True, kw_only=True):
    """`[heartbeat]`: looking after what `HEARTBEAT.md` says at an interval, unasked. `to` is the
    chat that hears of it, as CHANNEL:ID (empty: where an owner spoke last). Nothing happens in
    quiet hours ("22:00" to "08:00" by the clocks of `zone`), nor while somebody has spoken in that
    chat within `active_seconds`. After `greet_after_seconds` of silence there is a greeting (0:
    never)."""

    enabled: bool = True
    interval_seconds: Annotated[float, Meta(ge=60, le=86_400)] = 1_800.0
    to: str = ""
    quiet_from: str = ""
    quiet_until: str = ""
    zone: str = ""
    active_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 300.0
    model: str = ""
    max_iterations: Count = 10
    max_run_seconds: Duration = 120.0
    greet_after_seconds: Annotated[float, Meta(ge=0, le=2_592_000)] = 0.0


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
