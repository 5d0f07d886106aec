"""The triggers of a gateway, as configured, each with what becomes of what it publishes."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping

import msgspec
from loguru import logger

from nanobot.agent.stages.helpers import AuxiliaryModels
from nanobot.config.loader import Config
from nanobot.config.settings.triggers import HookSettings
from nanobot.errors import ConfigError
from nanobot.messages import TERMINAL, Address, Origin, Role, RunOptions
from nanobot.plugins import Plugins
from nanobot.ports import Clock
from nanobot.providers.base import Models
from nanobot.session.keys import HOOKS
from nanobot.store.opening import Store
from nanobot.store.repositories.chats import SqlChatHistory
from nanobot.store.repositories.trigger_state import SqlTriggerState
from nanobot.triggers import heartbeat
from nanobot.triggers.base import Publisher, Trigger
from nanobot.triggers.cron.hours import hours_of, zone_given
from nanobot.triggers.cron.jobs import Plan, Taken
from nanobot.triggers.cron.service import CronService
from nanobot.triggers.events.event_queue import EventOptions
from nanobot.triggers.events.sensors import prompts_of, sensors_of
from nanobot.triggers.events.state import TriggerState
from nanobot.triggers.events.trigger import Events
from nanobot.triggers.heartbeat import ChatSituation, Heartbeat, HeartbeatSchedule
from nanobot.triggers.plugins import opened
from nanobot.triggers.quiet import QuietHours
from nanobot.triggers.webhooks.checks import wrong
from nanobot.triggers.webhooks.deliveries import NamedDeliveries
from nanobot.triggers.webhooks.webhook import Webhook, Webhooks

HOOKS_WAITING = 1_000
"""Deliveries of one hook that may wait to be acted upon."""
_TERMS = RunOptions(direct=True, unattended=True, history=())


def triggers_of(
    config: Config,
    cron: CronService,
    zone: str,
    plugins: Plugins,
    store: Store,
    models: Models,
) -> dict[str, tuple[Trigger, Publisher]]:
    """Those that are switched on, by their names. Raises ConfigError."""
    made: dict[str, tuple[Trigger, Publisher]] = {}
    if config.heartbeat.enabled:
        made[heartbeat.NAME] = _heartbeat(config, cron, zone, store, models)
    if config.events.enabled:
        made["events"] = _events(config, cron, zone, store)
    for name, trigger in opened(config.triggers, plugins).items():
        plan = plan_of(f"trigger:{name}", config.triggers[name].to, Origin.EVENT, zone)
        # Nobody knows where a package has its words from.
        plan = msgspec.structs.replace(plan, tainted=True)
        made[f"trigger:{name}"] = (trigger, cron.publisher(plan))
    return made


def check(config: Config, zone: str) -> None:
    """Raises ConfigError for what is well written and cannot work all the same."""
    if config.heartbeat.enabled:
        rhythm_of(config, zone)
    if config.events.enabled:
        _check_chat(config, "events.to", config.events.to)
    QuietHours(config.quiet, zone)


def rhythm_of(config: Config, zone: str) -> HeartbeatSchedule:
    """When there are heartbeats, as configured. Raises ConfigError naming the key."""
    settings, path = config.heartbeat, "heartbeat"
    channel, _, chat = settings.to.partition(":")
    served = config.served
    if settings.to and not (chat and channel in {*served, TERMINAL}):
        known = ", ".join(f"{name}:..." for name in (*served, TERMINAL))
        raise ConfigError(
            f"heartbeat.to is {settings.to[:60]!r}, which is no chat of a channel that is served: "
            f"write CHANNEL:ID ({known}), or leave it out for the chat an owner spoke in last."
        )
    own = zone_given(settings.zone, zone, path)
    return HeartbeatSchedule(
        interval=settings.interval_seconds,
        to=Address(channel, chat) if settings.to else None,
        hours=hours_of(settings.quiet_from, settings.quiet_until, own, path),
        zone=own,
        active=settings.active_seconds,
        greet_after=settings.greet_after_seconds,
    )


def _heartbeat(
    config: Config, cron: CronService, zone: str, store: Store, models: Models
) -> tuple[Trigger, Publisher]:
    settings, rhythm, helpers = config.heartbeat, rhythm_of(config, zone), AuxiliaryModels(models)
    served = config.served
    chats = SqlChatHistory(store.database, store.writer, (served, (TERMINAL,)))
    terms = msgspec.structs.replace(
        _TERMS,
        model=settings.model,
        max_iterations=settings.max_iterations,
        max_run_seconds=settings.max_run_seconds,
    )
    # Of beats only one is at work at a time, and none waits for it.
    plan = msgspec.structs.replace(
        plan_of(heartbeat.NAME, settings.to, Origin.HEARTBEAT, rhythm.zone),
        schedule=f"every {rhythm.interval:.0f} seconds",
        terms=terms,
        overlap="skip",
        post=True,
    )

    def into(address: Address, around: ChatSituation) -> Publisher:
        there = msgspec.structs.replace(
            plan, address=address, session_key=around.session_key, tainted=around.tainted
        )
        return cron.publisher(there)

    async def able() -> bool:
        profile = await helpers.profile(settings.model or None)
        return profile is not None and helpers.able(profile, "the heartbeat")

    clock = store.writer.clock
    beats = Heartbeat(config.workspace, rhythm, chats, clock, into, able)
    return beats, cron.publisher(plan)


def hooks_of(
    config: Config,
    cron: CronService,
    zone: str,
    clock: Clock,
    state: TriggerState | None = None,
) -> Webhooks:
    """The webhooks that are switched on; `state` keeps what they have taken. Raises ConfigError."""
    for sentence in wrong(config):
        raise ConfigError(f"{config.file}: {sentence}. Correct it.")
    return Webhooks(
        {
            name: Webhook(
                name,
                hook,
                cron.publisher(_hook_plan(name, hook, zone)),
                clock,
                NamedDeliveries(state, f"hook:{name}"),
            )
            for name, hook in config.hooks.items()
            if hook.enabled
        }
    )


def _hook_plan(name: str, hook: HookSettings, zone: str) -> Plan:
    plan = plan_of(HOOKS.of(name), hook.to, Origin.WEBHOOK, zone)
    own, tools = hook.session == "own", hook.tools or None
    terms = RunOptions(
        direct=own,
        unattended=own,
        history=() if own else None,
        model=hook.model,
        tools=() if tools == ("none",) else tools,
        max_iterations=hook.max_iterations or None,
    )
    return msgspec.structs.replace(
        plan,
        role=Role(hook.role),
        session=hook.session,
        terms=terms,
        waiting=HOOKS_WAITING,
        tainted=True,  # whoever can make the sender send decides what it says
    )


def _check_chat(config: Config, key: str, to: str) -> None:
    channel, colon, chat = to.partition(":")
    served = [*(name for name, one in config.channels.items() if one.enabled), TERMINAL]
    if to and not (colon and chat and channel in served):
        known = ", ".join(f"{name}:..." for name in served)
        raise ConfigError(
            f"{config.file}: {key} is {to[:60]!r}, which is no chat of a channel that is served: "
            f"write CHANNEL:ID ({known}), or leave it out, and nobody is written to."
        )


def _events(config: Config, cron: CronService, zone: str, store: Store) -> tuple[Events, Publisher]:
    """What happens on this machine. What holds others' words has a plan and a session apart."""
    settings = config.events
    _check_chat(config, "events.to", settings.to)
    sensors, lacking = sensors_of(settings)
    for sentence in lacking:
        logger.warning("{}", sentence)
    terms = EventOptions(
        host=socket.gethostname(),
        zone=zone,
        prompts=prompts_of(settings),
        prompt=settings.prompt,
        per_hour=settings.prompts_per_hour,
    )
    plan = plan_of("events", settings.to, Origin.EVENT, zone)
    outside = msgspec.structs.replace(
        plan_of("events:outside", settings.to, Origin.EVENT, zone), tainted=True
    )
    chats = SqlChatHistory(store.database, store.writer, ())
    channel = config.channels.get(plan.address.channel)
    owners = () if channel is None else channel.owners
    told, telling = (_EventPublisher(cron, one, chats, owners) for one in (outside, plan))
    keeping = SqlTriggerState(store.database, store.writer)
    return Events(sensors, terms, keeping, store.writer.clock, told), telling


class _EventPublisher:
    """Takes what happened on the machine. Where nobody reads the answer, or an owner alone, the run
    has the owners' memory: what is learnt of the machine is theirs."""

    def __init__(
        self, cron: CronService, plan: Plan, chats: SqlChatHistory, owners: Collection[str]
    ) -> None:
        self._cron = cron
        self._plan = plan
        self._chats = chats
        self._owners = owners

    async def publish(self, text: str, *, key: str = "") -> Taken:
        plan, to = self._plan, self._plan.address
        private = not plan.post or to.channel == TERMINAL or to.chat_id in self._owners
        terms = msgspec.structs.replace(plan.terms, private=private or await self._chats.alone(to))
        publisher = self._cron.publisher(msgspec.structs.replace(plan, terms=terms))
        return await publisher.publish(text, key=key)


def seen_by(triggers: Mapping[str, tuple[Trigger, Publisher]]) -> dict[str, str]:
    """What the watches of the machine saw last, by their names."""
    return {
        f"{name}.{watch}": seen
        for name, (trigger, _) in triggers.items()
        if isinstance(trigger, Events)
        for watch, seen in trigger.seen().items()
    }


def plan_of(name: str, to: str, origin: Origin, zone: str) -> Plan:
    """What becomes of what the trigger `name` publishes: a run in a session of the trigger's own,
    which sees nothing of those before; its answer goes to the chat `to` (CHANNEL:ID; "": it stays
    in the log). One after the other."""
    channel, _, chat = to.partition(":")
    address = Address(channel, chat) if to else Address(origin.value, name)
    return Plan(
        name=name,
        schedule="@yearly",
        zone=zone,
        anchor=0.0,
        text="",
        address=address,
        session_key=str(address),
        sender_id=name,
        role=Role.OWNER,
        terms=_TERMS,
        overlap="queue",
        post=bool(to),
        origin=origin,
    )
