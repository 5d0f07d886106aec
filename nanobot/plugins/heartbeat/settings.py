"""When there are heartbeats, and who hears of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Count, Duration, Settings, about


class HeartbeatSettings(Settings, frozen=True, kw_only=True):
    """`[heartbeat]`: runs at an interval on the tasks in `HEARTBEAT.md`. Without that file nothing
    happens."""

    enabled: Annotated[
        bool, about("Whether the assistant looks after HEARTBEAT.md from time to time.")
    ] = True
    interval_seconds: Annotated[
        float, Meta(ge=60, le=86_400), about("How often the assistant looks.", unit="s")
    ] = 1_800.0
    to: Annotated[
        str, about("Chat that hears of it, as CHANNEL:ID. Empty: where an owner wrote last.")
    ] = ""
    quiet_from: Annotated[str, about("When quiet hours begin, as 22:00. Empty: none.")] = ""
    quiet_until: Annotated[str, about("When quiet hours end, as 08:00.")] = ""
    zone: Annotated[str, about("Time zone of the quiet hours. Empty: `agent.zone`.")] = ""
    active_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400),
        about("No heartbeat for this long after a message in the chat.", unit="s"),
    ] = 300.0
    model: Annotated[str, about("Model for it. Empty: the usual one.", is_model=True)] = ""
    max_iterations: Annotated[Count, about("Most model calls each time.")] = 10
    max_run_seconds: Annotated[Duration, about("Longest working time each time.", unit="s")] = 120.0
    greet_after_seconds: Annotated[
        float,
        Meta(ge=0, le=2_592_000),
        about("Silence after which the assistant says hello. 0: never.", unit="s"),
    ] = 0.0
