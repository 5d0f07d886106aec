"""The events plugin of a gateway, as configured."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection

import msgspec
from loguru import logger

from nanobot.addresses import owners_alone
from nanobot.config.loader import Config
from nanobot.errors import ConfigError
from nanobot.messages import Origin
from nanobot.operations.home import Finding
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.jobs.triggers import Publisher, Taken, Trigger
from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.plugins.events.event_queue import EventOptions
from nanobot.plugins.events.sensors import prompts_of, sensors_of
from nanobot.plugins.events.settings import EventsSettings
from nanobot.plugins.events.store import SqlChatReaders
from nanobot.plugins.events.trigger import Events
from nanobot.store.opening import Store
from nanobot.system import Zone
from nanobot.tools.redact import Redactor


def fits(config: Config) -> list[Finding]:
    """The packages that sensors lack. Raises ConfigError if `events.to` is not a chat."""
    check_chat(config)
    lacking = sensors_of(config.of(EventsSettings))[1]
    return [Finding(about="events", level="warning", text=sentence) for sentence in lacking]


def check_chat(config: Config) -> None:
    """Raises ConfigError if `events.to` is not a chat of a connected channel."""
    key, to = "events.to", config.of(EventsSettings).to
    channel, colon, chat = to.partition(":")
    if to and not (colon and chat and channel in config.addressed):
        addresses = ", ".join(f"{name}:..." for name in config.addressed)
        raise ConfigError(
            f"{key} is {to[:60]!r}, which is not a chat of a channel that is served: "
            f"write CHANNEL:ID ({addresses}), or remove the key to write to no one."
        )


def triggers(
    settings: EventsSettings,
    config: Config,
    jobs: JobService,
    zone: Zone,
    store: Store,
    redact: Redactor,
) -> dict[str, tuple[Trigger, Publisher]]:
    """The trigger for machine events. Untrusted text has a separate plan and session."""
    sensors, lacking = sensors_of(settings)
    for sentence in lacking:
        logger.warning("{}", sentence)
    options = EventOptions(
        host=socket.gethostname(),
        zone=zone,
        prompts=prompts_of(settings),
        prompt=settings.prompt,
        per_hour=settings.prompts_per_hour,
    )
    plan = jobs.trigger_plan("events", settings.to, Origin.EVENT, zone)
    outside = msgspec.structs.replace(
        jobs.trigger_plan("events:outside", settings.to, Origin.EVENT, zone), tainted=True
    )
    chats = SqlChatReaders(store.database, store.writer)
    channel = config.channels.get(plan.address.channel)
    owners = () if channel is None else channel.owners
    from_outside, from_here = (
        _EventPublisher(jobs, origin, chats, owners, redact) for origin in (outside, plan)
    )
    trigger_state = SqlTriggerState(store.database, store.writer)
    events = Events(sensors, options, trigger_state, store.writer.clock, from_outside)
    return {"events": (events, from_here)}


class _EventPublisher:
    """Publishes machine events. If only an owner or no one reads the answer, the run uses the
    owners' memory, because the machine is theirs. `redact` removes known secrets, which may be in a
    log.
    """

    def __init__(
        self,
        jobs: JobService,
        plan: Plan,
        chats: SqlChatReaders,
        owners: Collection[str],
        redact: Callable[[str], str],
    ) -> None:
        self._redact = redact
        self._jobs = jobs
        self._plan = plan
        self._chats = chats
        self._owners = owners

    async def publish(self, text: str, *, key: str = "") -> Taken:
        plan, to = self._plan, self._plan.address
        private = not plan.post or owners_alone(to) or to.chat_id in self._owners
        options = msgspec.structs.replace(
            plan.options, private=private or await self._chats.alone(to)
        )
        publisher = self._jobs.publisher(msgspec.structs.replace(plan, options=options))
        return await publisher.publish(self._redact(text), key=key)
