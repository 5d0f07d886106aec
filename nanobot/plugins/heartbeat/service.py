"""The heartbeat of a gateway, as configured."""

from __future__ import annotations

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.messages import TERMINAL, WEB, Address, Origin
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.jobs.triggers import Publisher, Trigger
from nanobot.plugins.common.models.auxiliary_models import AuxiliaryModels
from nanobot.plugins.common.times.daily_hours import DAILY_HOURS, DailyHours, zone_given
from nanobot.plugins.heartbeat.heartbeat import (
    NAME,
    ChatSituation,
    Heartbeat,
    HeartbeatSchedule,
)
from nanobot.plugins.heartbeat.settings import HeartbeatSettings
from nanobot.plugins.heartbeat.store import SqlChatHistory
from nanobot.providers.base import Models
from nanobot.seam.installed import provided
from nanobot.store.opening import Store
from nanobot.system import Zone


def rhythm_of(config: Config, zone: str) -> HeartbeatSchedule:
    """The configured schedule of heartbeats. Raises ConfigError that names the key."""
    settings, path = config.of(HeartbeatSettings), "heartbeat"
    channel, _, chat = settings.to.partition(":")
    if settings.to and not (chat and channel in config.addressed):
        addresses = ", ".join(f"{name}:..." for name in config.addressed)
        raise ConfigError(
            f"heartbeat.to is {settings.to[:60]!r}, which is not a chat of a channel that is "
            f"served: "
            f"write CHANNEL:ID ({addresses}), or leave it out for the chat an owner spoke in last."
        )
    own = zone_given(settings.zone, zone, path)
    return HeartbeatSchedule(
        interval=settings.interval_seconds,
        to=Address(channel, chat) if settings.to else None,
        hours=_quiet_hours(settings, own, path),
        zone=own,
        active=settings.active_seconds,
        greet_after=settings.greet_after_seconds,
    )


def _quiet_hours(settings: HeartbeatSettings, zone: str, path: str) -> DailyHours | None:
    begin, end = settings.quiet_from, settings.quiet_until
    if not begin and not end:
        return None
    hours_of = provided(DAILY_HOURS)
    if hours_of is None:
        raise ConfigError(f"{path}.quiet_from and {path}.quiet_until need the plugin quiet.")
    return hours_of(begin, end, zone, path)


def fits(config: Config, zone: Zone) -> None:
    """Raises ConfigError for settings that contradict the rest of the configuration."""
    rhythm_of(config, zone)


def triggers(
    settings: HeartbeatSettings,
    config: Config,
    jobs: JobService,
    zone: Zone,
    store: Store,
    models: Models,
) -> dict[str, tuple[Trigger, Publisher]]:
    """The heartbeat trigger with its publisher. Raises ConfigError."""
    schedule, helpers = rhythm_of(config, zone), AuxiliaryModels(models)
    chats = SqlChatHistory(store.database, store.writer, (config.served, (WEB, TERMINAL)))
    plan = jobs.trigger_plan(NAME, settings.to, Origin.HEARTBEAT, schedule.zone)
    options = msgspec.structs.replace(
        plan.options,
        model=settings.model,
        max_iterations=settings.max_iterations,
        max_run_seconds=settings.max_run_seconds,
    )
    # Only one heartbeat runs at a time, and none waits for it.
    plan = msgspec.structs.replace(
        plan,
        schedule=f"every {schedule.interval:.0f} seconds",
        options=options,
        overlap="skip",
        post=True,
    )

    def into(address: Address, situation: ChatSituation) -> Publisher:
        there = msgspec.structs.replace(
            plan,
            address=address,
            session_key=situation.session_key,
            tainted=situation.label.tainted,
            label=situation.label.encoded(),
        )
        return jobs.publisher(there)

    async def able() -> bool:
        profile = await helpers.profile(settings.model or None)
        return profile is not None and helpers.able(profile, "the heartbeat")

    clock = store.writer.clock
    beats = Heartbeat(config.workspace, schedule, chats, clock, into, able)
    return {NAME: (beats, jobs.publisher(plan))}
