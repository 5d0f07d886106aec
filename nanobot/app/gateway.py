"""The gateway's lifetime, from opening the store to the end of the drain."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from loguru import logger

from nanobot.app.bringing import brought_hooks, channels_of, migrate_plugins, unfit, unused
from nanobot.app.gateway_parts import Machine, Parts
from nanobot.app.home import prepare_home
from nanobot.app.hosting import ChannelStarter
from nanobot.app.ledgers import unlimited
from nanobot.app.plugged import Plugged
from nanobot.app.program import Program
from nanobot.app.roles import Roles, Serving
from nanobot.app.zones import zone_of_home
from nanobot.boundary import boundary
from nanobot.config.loader import Config
from nanobot.errors import ConfigError, NanobotError, StoreError
from nanobot.ports import Clock, Ids
from nanobot.session.decisions import Decisions
from nanobot.session.keys import TASKS
from nanobot.session.run_types import RunTypes
from nanobot.store.opening import Store, contexts
from nanobot.store.quarantine.guard import Care
from nanobot.store.servers import open_store, server_of, url_of
from nanobot.store.unit import HumanWaits
from nanobot.supervision import Work, begin_all
from nanobot.system import RandomIds, SystemClock, Zone
from nanobot.tools.redact import Redactor, secrets_of
from nanobot.workspace import folder as workspace
from nanobot.workspace import personas

_PAGE_PAUSE = 1.0
"""Seconds between two pages of rows that are looked at while people are answered: a page takes five
milliseconds, so that is less than a hundredth of a processor."""


class Gateway:
    """A gateway over a home, or only its `roles` over a store that other processes share.
    `serving()` is its lifetime, with its `channels` and HTTP, with the `page` alone, or with
    neither."""

    def __init__(  # noqa: PLR0913 - each is an option
        self,
        config: Config,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        channels: bool = True,
        page: bool = False,
        program: Program | None = None,
        roles: Roles = Roles(),  # noqa: B008 - frozen
        restart: Callable[[], None] | None = None,
    ) -> None:
        """`restart` starts the shutdown of a process that then starts again."""
        self.config = config
        self._program = program
        self._roles = roles
        clock = clock or SystemClock()
        self._machine = Machine(
            environ=environ,
            clock=clock,
            ids=ids or RandomIds(),
            redact=Redactor(secrets_of(config, environ)),
            began=clock.monotonic(),
            zone=zone_of_home(config.agent, environ),
            restart=restart,
        )
        self._with_channels = channels
        self._with_page = channels or page

    async def reached(self) -> None:
        """Wait at most a minute for a database server that is restarting."""
        url = url_of(self.config)
        if not url.startswith("sqlite"):
            await server_of(url).reached(self._machine.clock)

    @asynccontextmanager
    async def serving(self, command: str, ready: Callable[[str], None]) -> AsyncIterator[Parts]:
        """Recover, serve while inside, then drain: intake first, then runs, then their messages.

        `ready` is called once, with a line for people, after recovery and after every channel's
        first success or failure. Raises ConfigError or StoreError.
        """
        async with AsyncExitStack() as stack:
            parts = await self.opened(stack, command)
            if without_limits := unlimited(self.config, parts.plugged):
                logger.warning("{}", without_limits.sentences)
            for finding in unused(self.config):
                logger.warning("{}", finding.text)
            await _say_what_waits(parts)
            await self._enter(stack, parts)
            async with asyncio.TaskGroup() as tasks:
                clock = self._machine.clock
                agent = begin_all(tasks, self._agent(parts), clock)
                hosting = parts.starter.start_brought(tasks, channels_of(parts.plugged))
                starting = [
                    tasks.create_task(self._begin(parts, tasks, hosting, ready), name="start"),
                    *agent[1:],
                ]
                served = bool(parts.http.api_url)
                fields = {"every_process": True, "start": bool(agent), "serve": served}
                plugins = [
                    task
                    for field, here in fields.items()
                    if here
                    for task in begin_all(tasks, parts.plugged.works(field, clock), clock)
                ]
                try:
                    yield parts
                finally:
                    for task in starting:
                        task.cancel()
                    await self._drain(parts, agent[:1], hosting)
                    for task in plugins:  # runs use them to their end
                        task.cancel()

    async def _enter(self, stack: AsyncExitStack, parts: Parts) -> None:
        """Enter everything that serves for the whole lifetime, and recover."""
        served = Serving(channels=self._with_channels, page=self._with_page)
        more = {Roles: self._roles, Serving: served, ChannelStarter: parts.starter}
        hinders = (ConfigError, StoreError)
        await stack.enter_async_context(parts.plugged.around("listening", more, *hinders))
        if not (self._roles.channels or self._roles.worker) and parts.http.lacks:
            logger.warning("{}", parts.http.lacks)
        if self._roles.worker:
            await parts.worker.recover()
        await stack.enter_async_context(parts.peers.serving())
        if self._roles.worker:
            await stack.enter_async_context(parts.plugged.around("around_runs"))

    def _agent(self, parts: Parts) -> Mapping[str, Work]:
        """The tasks of a worker: first the one that drains, then those that end at once."""
        if not self._roles.worker:
            return {}
        return {"agent": parts.worker.run, "jobs and triggers": parts.one_process}

    async def opened(self, stack: AsyncExitStack, command: str) -> Parts:
        """Its parts over the open store, until the stack ends: nothing is started. Raises
        ConfigError or StoreError."""
        config, machine = self.config, self._machine
        prepare_home(config)
        workspace.prepare(config.workspace)
        logger.configure(patcher=machine.redact.patch)
        personas.check(config.agent.persona, config.workspace)
        plugged = Plugged(config)
        plugged.offers.add({Zone: Zone(machine.zone)})
        for finding in unfit(plugged):
            if finding.level == "broken":
                raise ConfigError(f"{config.file}: {finding.text}")
        store = self._store(command, plugged)
        stack.push_async_callback(store.close)
        await migrate_plugins(plugged, store.database)
        program = self._program or Program()
        parts = Parts(config, store, machine, program, self._roles, plugged)
        stack.push_async_callback(parts.models.close)
        store.guard.care = plugged.offers.find(Care)
        store.writer.waits = store.writer.waits or plugged.offers.find(HumanWaits)
        store.guard.owed.append(parts.engine.bus.owed)
        await store.guard.look_at_pending()
        return parts

    def _store(self, command: str, plugged: Plugged) -> Store:
        config, machine = self.config, self._machine
        context_of = contexts(machine.clock, machine.ids, partial(brought_hooks, plugged))
        if self._program is not None and self._program.store is not None:
            return Store(self._program.store, context_of(None, ""), None, closes=False)
        return open_store(
            config.home,
            url_of(config),
            context_of,
            command=command,
            crash=machine.environ.get("NANOBOT_CRASH_AT", ""),
        )

    async def _begin(
        self,
        parts: Parts,
        tasks: asyncio.TaskGroup,
        hosting: list[asyncio.Task[None]],
        ready: Callable[[str], None],
    ) -> None:
        """Start the channels, after what they have to wait for. The parts for the model are loaded
        after them, while they connect to their platforms. Rows that nothing waits for are looked
        at last."""
        if self._roles.worker:
            await parts.moments.one_by_one("before_channels")
        if self._with_channels and self._roles.channels:
            hosting += parts.starter.start_configured(tasks)
        async with asyncio.TaskGroup() as loading:
            if self._roles.worker:
                loading.create_task(self._warm_up(parts), name="model")
            await self._announce(parts, ready)
        await parts.guard.look_at_others(partial(self._machine.clock.sleep, _PAGE_PAUSE))

    async def _warm_up(self, parts: Parts) -> None:
        """Load the parts for the model while the channels wait for their platforms, and not while
        they ask."""
        await parts.channels.asked()
        with boundary("the model"):
            try:
                await parts.models.warm_up()
            except NanobotError as error:  # reported with the first message
                logger.warning("no model yet: {}", error)

    async def _announce(self, parts: Parts, ready: Callable[[str], None]) -> None:
        await parts.channels.settled()
        parts.http.ready = True
        configured = parts.channels.states(self.config.channels)
        states = ",".join(f"{name}:{state}" for name, state in configured.items())
        web = parts.http.url or "off"
        role = "" if self._roles.whole else f" role={self._roles}"
        ready(f"ready pid={os.getpid()} web={web} channels={states or 'none'}{role}")
        if self._with_channels:
            await parts.moments.one_by_one("ready")

    async def _drain(
        self, parts: Parts, agent: list[asyncio.Task[None]], hosting: list[asyncio.Task[None]]
    ) -> None:
        """In this order: intake stops first, so that no new work begins; runs and commands get
        `drain_seconds`; deliveries continue, because runs that end send messages; remaining runs
        are released and resume at the next start."""
        await parts.channels.stop_intake()
        seconds = parts.live.config.drain_seconds
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(parts.http.drain(), name="web")
            drained = tasks.create_task(parts.worker.drain(seconds), name="drain")
            tasks.create_task(parts.channels.rest(seconds), name="commands")
            if self._roles.worker:
                tasks.create_task(parts.moments.draining(seconds), name="plugins")
        if not drained.result():
            logger.warning(
                "{} unfinished run(s) resume at the next start", len(parts.worker.running)
            )
        for task in agent:
            task.cancel()
        await parts.channels.flush()
        for task in hosting:
            task.cancel()
        await parts.channels.close()


async def _say_what_waits(parts: Parts) -> None:
    """Log how many runs wait because no plugin does them, or none takes a person's decision."""
    offers, engine = parts.plugged.offers, parts.engine
    worked = offers.has(RunTypes)
    decided = offers.has(Decisions) or parts.store.writer.waits is None
    ready = [] if worked and decided else await engine.journal.ready()
    waiting = sum(TASKS.is_of(lane.session_key) for lane in ready)
    if waiting and not worked:
        logger.warning(
            "{} background run(s) wait for the plugin tasks, which is not on: "
            "`nanobot plugins on tasks` switches it on",
            waiting,
        )
    asked = sum(lane.parked for lane in ready)
    if asked and not decided:
        logger.warning(
            "{} run(s) wait for a person, and the plugin approvals, which takes decisions, is not "
            "on: `nanobot plugins on approvals` switches it on",
            asked,
        )
