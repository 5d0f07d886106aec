"""The composition root: the only module that knows every concrete class."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from loguru import logger

from nanobot import __version__
from nanobot.agent.budgets import Budgets, UsageStore
from nanobot.agent.context_preview import ContextPreview
from nanobot.agent.model_calls import ModelCaller
from nanobot.agent.requests import RunClient, RunService
from nanobot.agent.runner import Runner
from nanobot.agent.tasks.builtin import builtin_types
from nanobot.agent.tasks.service import BackgroundRuns
from nanobot.agent.tasks.types import installed
from nanobot.agent.worker import Worker
from nanobot.app.lifecycle import Lifecycle
from nanobot.app.parts import (
    caller_of,
    cron_of,
    exec_terms,
    gate_of,
    memory_of,
    mind_of,
    persona_of,
    sandbox_of,
    warm_up,
    workspace_tools,
)
from nanobot.app.settings import capacity, run_settings
from nanobot.app.triggers import hooks_of, seen_by, triggers_of
from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate
from nanobot.bus.pairing import Pairing
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.host import ChannelHost, Hosting, all_settled
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import menu, open_channel
from nanobot.channels.terminal import Terminal
from nanobot.config.loader import ChannelSettings, Config
from nanobot.errors import PluginBroken
from nanobot.messages import TERMINAL, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Facts
from nanobot.plugins import Plugins
from nanobot.ports import Channel, Clock, Fetching, Ids
from nanobot.providers.base import ModelProfile
from nanobot.providers.registry import ProviderRegistry
from nanobot.providers.vision import VisionModels
from nanobot.server.control import ControlServer
from nanobot.server.http import HttpService
from nanobot.session.entries import ReplyEntry
from nanobot.session.inbox import Busy
from nanobot.session.journal import Journal
from nanobot.session.runs import Run
from nanobot.session.tasks import TaskRecords, TaskStarter
from nanobot.session.views import Records
from nanobot.store.opening import Store, open_store
from nanobot.store.repositories.background_commands import SqlBackgroundCommands
from nanobot.store.repositories.ledger import SqlBudgetLedger, SqlUsageStore
from nanobot.store.repositories.pairings import SqlPairingStore
from nanobot.store.repositories.records import SqlRecords
from nanobot.store.repositories.tasks import SqlTasks
from nanobot.system import RandomIds, SystemClock, local_zone
from nanobot.tools.ask_user import ask_tool
from nanobot.tools.cron import cron_tool
from nanobot.tools.mcp.servers import McpServers
from nanobot.tools.memory import memory_tools
from nanobot.tools.plugins import register_installed
from nanobot.tools.policy import Policy
from nanobot.tools.redact import Redactor, secrets_of
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.shell.background import BackgroundCommands
from nanobot.tools.shell.exec import exec_tool
from nanobot.tools.shell.process import process_tool
from nanobot.tools.skill import skill_tool
from nanobot.tools.web.tools import web_tools
from nanobot.triggers.supervisor import supervise
from nanobot.workspace import folder as workspace
from nanobot.workspace import personas
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.received import Received
from nanobot.workspace.skills import Skills

_CHANNELS_READY_SECONDS = 10.0
_FLUSH_SECONDS = 5.0


class Gateway:
    """A whole nanobot: store, agent, channels, control socket. `serving()` is its life."""

    def __init__(
        self,
        config: Config,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        channels: bool = True,
    ) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._environ = environ
        self._with_channels = channels
        self._began = self._clock.monotonic()
        self._rng = random.Random()  # noqa: S311 - jitter, nothing secret
        self._redact = Redactor(secrets_of(config, environ))
        self.skills = Skills(config.workspace, environ)
        self.hosts: list[ChannelHost] = []
        self.plugins = Plugins()
        self._broken: list[str] = []
        self.budgets = Budgets(config.budgets, local_zone(environ), config.agent.max_run_cost)
        model, providers, home = config.agent.model, config.providers, config.home
        self.roster = ProviderRegistry(model, providers, environ, home, self._clock)
        self.roster.plugins = self.plugins

    # What operations need (operations.Engine)

    @property
    def journal(self) -> Journal:
        """The store's verbs."""
        return self.bus.journal

    def running(self) -> list[Run]:
        """The runs driven now."""
        return self.loop.running

    def partial(self, session_key: str) -> ReplyEntry | None:
        """What the session's run has said so far."""
        return self.loop.partial(session_key)

    async def describe_model(self, label: str | None) -> ModelProfile:
        """The model behind a label."""
        return (await self.roster.pick(label))[1]

    def facts(self) -> Facts:
        """What it is and where."""
        config = self.config
        states = dict.fromkeys(config.served, "off")
        states |= self._states()
        return Facts(
            version=__version__,
            home=str(config.home),
            pid=os.getpid(),
            serving=bool(self.hosts),
            channels=states,
            web=self.door.url,
            watches=seen_by(self._triggers),
        )

    def _states(self) -> dict[str, str]:
        states = dict.fromkeys(self._broken, "failed")
        return states | {host.name: host.state for host in self.hosts if host.name != TERMINAL}

    def now(self) -> float:
        """Unix seconds."""
        return self._clock.now()

    def uptime(self) -> float:
        """Seconds since the start."""
        return self._clock.monotonic() - self._began

    # Life

    @asynccontextmanager
    async def at_rest(self, command: str) -> AsyncIterator[Dispatcher]:
        """The operations over the store alone: within, no run starts, no channel is served and
        nobody else can open a SQLite store. Raises StoreError."""
        async with AsyncExitStack() as stack:
            await self._open(stack, command)
            yield self._operations

    async def _open(self, stack: AsyncExitStack, command: str) -> None:
        workspace.prepare(self.config.workspace)
        logger.configure(patcher=self._redact.patch)
        personas.check(self.config.agent.persona, self.config.workspace)
        store = open_store(
            self.config.home,
            self.config.database_url,
            self._clock,
            self._ids,
            command=command,
            crash=self._environ.get("NANOBOT_CRASH_AT", ""),
        )
        stack.push_async_callback(store.close)
        stack.push_async_callback(self.roster.close)
        self._assemble(store)

    @asynccontextmanager
    async def serving(self, command: str, ready: Callable[[str], None]) -> AsyncIterator[None]:
        """Recover, serve within, then drain: intake first, then runs, then what they owe.

        `ready` is called once, with the line that says so, after recovery and after every
        channel's first success or failure. Raises ConfigError or StoreError.
        """
        async with AsyncExitStack() as stack:
            await self._open(stack, command)
            if self._with_channels:
                await stack.enter_async_context(self.door.serving())
            await self.lifecycle.tidy(self._ids)
            await self.loop.recover()
            control, terminal = self._terminal()
            await stack.enter_async_context(control.serving(self.programs, self.received))
            await stack.enter_async_context(self._background.serving())
            await stack.enter_async_context(self.mcp.serving())
            await stack.enter_async_context(self.memory.serving())
            await stack.enter_async_context(self._runs.serving())
            async with asyncio.TaskGroup() as tasks:
                agent = tasks.create_task(self.loop.run(), name="agent")
                here = Hosting(shared=self._shared)
                hosting = [self._host(tasks, TERMINAL, terminal, Gate(("local",), ()), here)]
                starting = [
                    tasks.create_task(self._cron.run(), name="cron"),
                    tasks.create_task(supervise(self._triggers, self._clock), name="triggers"),
                    tasks.create_task(warm_up(self.roster), name="model"),
                    tasks.create_task(self._begin(tasks, hosting, ready), name="start"),
                    tasks.create_task(self._stages.remember(), name="remembering"),
                ]
                try:
                    yield
                finally:
                    for task in starting:
                        task.cancel()
                    await self._drain(agent, hosting)

    def _assemble(self, store: Store) -> None:
        config = self.config.agent
        busy = Busy(mode=config.when_busy, collect_seconds=config.collect_seconds)
        self.bus = Bus(store.journal, config.lane_limit, busy)
        store.writer.ledger = SqlBudgetLedger(self.budgets, self._clock)
        self.spending: UsageStore = SqlUsageStore(store.database)
        zone = local_zone(self._environ)
        self._shared = store.shared
        self._cron = cron_of(store, self.bus, self.config.quiet, zone)
        self.book = self._cron.book(zone, (TERMINAL, *self.config.served))
        self._triggers = triggers_of(
            self.config, self._cron, zone, self.plugins, store, self.roster
        )
        made = partial(hooks_of, self.config, self._cron, zone, self._clock)
        self.door = HttpService(self.config, self._clock, self._redact, made)
        self.blobs = Blobs(self.config.home / "blobs")
        self.records: Records = SqlRecords(store.database, store.writer, self.blobs)
        self.pairing = Pairing(SqlPairingStore(store.database, store.writer), self._clock)
        roots = ConfinedFiles(self.config.workspace, hidden=(self.config.home, self.config.file))
        self.received = Received(self.blobs, roots, self.roster.scribe(config.transcription_model))
        self.memory = memory_of(self.config, zone, store, roots, self.roster)
        self.tools = tools = self._tools(store, roots)
        settings = run_settings(config, self._environ)
        persona = persona_of(self.config, self.skills, self.memory)
        seeing = VisionModels(self.roster, self.blobs)
        asker = ModelCaller(self.bus, seeing, tools, persona, self._clock, settings)
        self.glimpse = ContextPreview(self.bus, asker, seeing, self.records, self._clock)
        caller = caller_of(config, store, tools, self.hosts)
        self.tasks: TaskRecords = SqlTasks(store.database, store.writer, settings.zone)
        kinds = builtin_types(store.journal, roots)
        kinds += installed(self.plugins, [one.name for one in kinds])
        self._runs = BackgroundRuns(self.tasks, self.records, self.bus, self._clock, tools, kinds)
        self.starter: TaskStarter = self._runs.starter
        self._stages = mind_of(self.config, store, self.roster, self.starter, self.memory, tools)
        self.loop = Worker(
            self.bus,
            Runner(self.bus, asker, caller, self._clock, self._runs.types, self._stages.mind),
            self._clock,
            self._ids,
            capacity(config, shared=store.shared),
        )
        folder, lifecycle = self.config.workspace, self.config.lifecycle
        self.lifecycle = Lifecycle(folder, lifecycle, self.loop, self.bus, self._clock)
        self._operations = Dispatcher(self)
        errands = RunClient(self.bus, self.loop, self._clock, lambda: False)
        self.programs = RunService(errands, store.journal, self._clock, self._ids)

    def _tools(self, store: Store, roots: ConfinedFiles) -> ToolRegistry:
        """The tools of this version. Whatever else lies in the home (keys, the log) stays hidden
        from files and commands, even where the workspace contains it."""
        folder, settings = self.config.workspace, self.config.tools.exec
        tools = ToolRegistry(policy=Policy(self.config.policy), redact=self._redact)
        sandbox = sandbox_of(self.config, self._environ)
        records = SqlBackgroundCommands(store.database, store.writer)
        self._background = BackgroundCommands(
            sandbox, folder, self.bus, records, self._clock, settings.background_timeout
        )
        chats = (TERMINAL, *self.config.served)
        for tool in (
            *web_tools(self.config.tools.web),
            ask_tool(),
            cron_tool(self.book),
            *workspace_tools(roots, self.blobs, chats),
            *memory_tools(self.memory, self.config.memory),
            skill_tool(self.skills),
            exec_tool(sandbox, folder, exec_terms(settings), self._background),
            process_tool(self._background),
        ):
            tools.register(tool)
        register_installed(tools, self.plugins)
        self.mcp = McpServers(self.config.mcp, tools, self._clock, self._environ, folder)
        return tools

    def _terminal(self) -> tuple[ControlServer, Terminal]:
        terminal = Terminal()
        intake = self._intake(TERMINAL, Gate(("local",), ()), lambda: None)
        path = self.config.home / "control.sock"
        roster = self.roster
        control = ControlServer(path, self.bus, terminal, intake, self._clock, lambda: roster.line)
        return control, terminal

    def _intake(self, name: str, gate: Gate, alive: Callable[[], None]) -> ChannelIntake:
        policy = self.config.agent.session_policy
        return ChannelIntake(name, gate, self.bus, self._operations, policy, alive)

    def _host(
        self,
        tasks: asyncio.TaskGroup,
        name: str,
        channel: Channel,
        gate: Gate,
        hosting: Hosting,
    ) -> asyncio.Task[None]:
        host = ChannelHost(name, channel, self.bus, self._clock, self._rng, hosting)
        self.hosts.append(host)
        intake = self._intake(name, gate, host.alive)
        return tasks.create_task(host.run(intake), name=f"channel {name}")

    def _channels(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        hosting = []
        for name, settings in self.config.channels.items():
            if not settings.enabled:
                continue
            try:
                channel = open_channel(name, settings, self.plugins)
            except PluginBroken:
                self._broken.append(name)
                continue
            gate = gate_of(settings, channel.capabilities)
            if isinstance(channel, Fetching):
                files, most = self.received, settings.max_attachment_mb * 1_000_000
                fetcher = AttachmentFetcher(name, channel, self.bus, self._clock, files, most)
                hosting.append(tasks.create_task(fetcher.run(), name=f"files of {name}"))
            hosting.append(self._host(tasks, name, channel, gate, self._hosting(settings)))
        return hosting

    def _hosting(self, settings: ChannelSettings) -> Hosting:
        return Hosting(
            preview=settings.preview,
            show_tools=settings.show_tools,
            marks=settings.marks,
            said=self.loop.said,
            blobs=self.blobs,
            shared=self._shared,
            commands=menu(self._operations, Role.MEMBER if settings.members else Role.OWNER),
        )

    async def _begin(
        self,
        tasks: asyncio.TaskGroup,
        hosting: list[asyncio.Task[None]],
        ready: Callable[[str], None],
    ) -> None:
        """The run of the start, which the channels may have to wait for, then the channels."""
        await self.lifecycle.boot(self._ids)
        if self._with_channels:
            hosting += self._channels(tasks)
        await self._announce(ready)

    async def _announce(self, ready: Callable[[str], None]) -> None:
        await all_settled(self.hosts, _CHANNELS_READY_SECONDS)
        self.door.ready = True
        states = ",".join(f"{name}:{state}" for name, state in self._states().items())
        web = self.door.url or "off"
        ready(f"ready pid={os.getpid()} web={web} channels={states or 'none'}")

    async def _drain(self, agent: asyncio.Task[None], hosting: list[asyncio.Task[None]]) -> None:
        """In this order: intake stops first, so that nothing new is taken on; the runs get
        `drain_seconds`; deliveries go on meanwhile, because runs that end owe something; what is
        left is given back and resumes at the next start."""
        for host in self.hosts:
            host.stop_intake()
        seconds = self.config.drain_seconds
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.door.drain(), name="web")
            drained = tasks.create_task(self.loop.drain(seconds), name="drain")
            tasks.create_task(self.lifecycle.shut_down(self._ids, seconds), name="SHUTDOWN.md")
        if not drained.result():
            logger.warning("{} run(s) go on at the next start", len(self.loop.running))
        agent.cancel()
        for host in self.hosts:
            await host.flush(_FLUSH_SECONDS)
        for task in hosting:
            task.cancel()
        for host in self.hosts:
            await host.close()
