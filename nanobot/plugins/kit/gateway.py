"""A gateway over fakes: everything between a channel and a model is real."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from nanobot.agent.askers import ASKER
from nanobot.agent.prompt import PromptAddition, PromptBuilder
from nanobot.agent.prompts import Summarizing
from nanobot.agent.runner import Check, Stage
from nanobot.agent.settings import RunSettings
from nanobot.agent.summarizers import SUMMARIES
from nanobot.agent.tool_calls import Retries
from nanobot.agent.worker import Capacity
from nanobot.app.agent import AgentParts, assemble_agent
from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate, GroupMode, Strangers
from nanobot.channels.attachments import AttachmentFetcher
from nanobot.channels.chat_leases import Sharing
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.host import ChannelHost, Hosting
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.channels.reception import InOrder
from nanobot.errors import StoreError
from nanobot.messages import SessionPolicy
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.engine import Engine
from nanobot.operations.operation import Operation
from nanobot.plugins.common.catching_up import CatchingUp
from nanobot.plugins.common.gateway_facts import Facts, GatewayFacts
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.receipts import ChatReceipts
from nanobot.plugins.common.runs.background_runs import TaskStarter
from nanobot.plugins.common.runs.background_work import BACKGROUND_RUNS, SPAWNING, BackgroundWork
from nanobot.plugins.common.runs.run_service import runs_for_programs
from nanobot.plugins.common.runs.run_types import AnyRunType
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.kit.memory_home import MemoryHome as MemoryHome
from nanobot.plugins.kit.memory_home import Process as Process
from nanobot.plugins.kit.model import ScriptedProvider
from nanobot.plugins.kit.platform import MEMBER, OWNER, FakeChannel
from nanobot.ports import Clock, Fetching
from nanobot.seam.installed import installed, provided
from nanobot.seam.offers import NOTHING, Offers, Things
from nanobot.seam.plugin import resolved
from nanobot.session.journal import Journal
from nanobot.session.lasting import LastingFacts
from nanobot.session.records import Records
from nanobot.session.run_types import RunTypes
from nanobot.store.database.database import Database
from nanobot.store.opening import Store
from nanobot.store.unit import CallLedger, NotificationLimiter, StoreContext, StoreHooks
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry
from nanobot.triggers.cron.service import CronService
from nanobot.workspace.received import Received

_TURNS = 300
_ASKING = "approvals"


_USUAL = ("context", "help", "models", "top")
"""Plugins which nearly every gateway has on, and of whose operations most need no objects."""


def _usual() -> list[Operation]:
    found = installed().found
    parts = [found[name].plugin.operations for name in _USUAL if name in found]
    return [each for part in parts if part for each in Offers().call(resolved(part), NOTHING)]


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """What plugins would add to a test gateway: parts of prompts, what keeps lasting facts,
    operations, and the objects that these request.
    """

    additions: tuple[PromptAddition, ...] = ()
    lasting: LastingFacts | None = None
    operations: tuple[Operation, ...] = ()
    offers: Things = NOTHING


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a test gateway."""

    settings: RunSettings = RunSettings()
    persona: PromptBuilder = PromptBuilder(Path("/nonexistent"))
    workspace: Path = Path("/nonexistent")
    owners: tuple[str, ...] = (OWNER,)
    members: tuple[str, ...] = (MEMBER,)
    guests: tuple[str, ...] = ()
    groups: GroupMode = GroupMode()
    ledger: Callable[[StoreContext], CallLedger] | None = None
    quiet: Callable[[StoreContext], NotificationLimiter] | None = None
    hooks: Callable[[StoreContext], StoreHooks] = lambda _: StoreHooks()
    """What plugins would add to transactions."""
    policy: SessionPolicy = "chat"
    lane_limit: int = 50
    capacity: Capacity = Capacity()
    hosting: Hosting = Hosting()
    sharing: Callable[[Database, StoreContext], Sharing] | None = None
    """Other processes work on the same store."""
    companions: tuple[str, ...] = ("code_files", "missed_reactions", "progress")
    """The plugins whose companions the channel has."""
    received: Received | None = None
    """With it, files of a channel that supports them are fetched, in threads and to the disk."""
    max_attachment: int = 20_000_000
    types: tuple[AnyRunType, ...] = ()
    """Types of background runs in addition to `agent`."""
    spawn: bool = False
    """There is the tool."""
    receipts: bool = True
    """A message that a run sends has its receipt as its result."""
    brings: Callable[[FakeGateway], Brought] = lambda _: Brought()
    """What plugins would add."""
    stages: Callable[[FakeGateway], Sequence[Stage]] = lambda _: ()
    check: Check | None = None


class _Facts(GatewayFacts):
    """What a fake gateway says of itself."""

    def __init__(self, told: Callable[[], Facts]) -> None:
        self._told = told

    def now(self) -> Facts:
        return self._told()


class FakeGateway:
    """Bus, agent and one hosted channel in one process, composed like a gateway."""

    def __init__(
        self,
        process: Process,
        home: MemoryHome,
        provider: ScriptedProvider,
        channel: FakeChannel,
        tools: Sequence[AnyTool],
        options: Options,
    ) -> None:
        self.process, self.home = process, home
        self.provider, self.channel = provider, channel
        channel.numbered_by(home.numbers(channel.name))
        self.journal, self.records, self.tasks = process.journal, process.records, process.tasks
        self.bus = Bus(self.journal, options.lane_limit)
        self.cron = CronService(process.jobs, self.bus, home.clock)
        self.tools = ToolRegistry()
        for tool in tools:
            self.tools.register(tool)
        self.background = background = self._background(options)
        self.starter: TaskStarter = background.starter
        self.brought = options.brings(self)
        store = Store(process, process.writer, None)
        self.offers = Offers({Store: store, Journal: self.journal, Records: self.records})
        self.offers.add({Clock: home.clock, JobService: self.cron, **self.brought.offers})
        asking = self._asking()
        agent = self._agent(background.types, options)
        self.offers.add_by_type(agent.model_calls)
        self.offers.add({InOrder: CatchingUp})
        self.offers.add({GatewayFacts: _Facts(self.facts)})
        self.worker = agent.worker
        self.run_service = runs_for_programs(
            self.bus, self.worker, self.tools, options.received, home.clock, home.ids
        )
        self.engine = self._engine(agent, options)
        every = [*OPERATIONS, *_usual(), *asking, *self.brought.operations]
        self.operations = Dispatcher(self.engine, every, self.offers)
        self._host(options)
        self._tasks: list[asyncio.Task[None]] = []

    def _background(self, options: Options) -> BackgroundWork:
        make, spawning = provided(BACKGROUND_RUNS), provided(SPAWNING)
        if make is None or spawning is None:
            raise StoreError("no plugin does background runs")
        parts = (self.tasks, self.records, self.bus, self.home.clock, self.tools)
        background = make(*parts, options.types)
        if options.spawn:
            self.tools.register(spawning(background.starter))
        return background

    def _asking(self) -> list[Operation]:
        """The objects and operations of the plugin that asks people."""
        plugin = installed().found[_ASKING].plugin
        if plugin.objects is None or plugin.operations is None:
            raise StoreError("no plugin asks people")
        self.offers.add(self.offers.call(resolved(plugin.objects), NOTHING))
        return list(self.offers.call(resolved(plugin.operations), NOTHING))

    def _agent(self, types: RunTypes, options: Options) -> AgentParts:
        received, prompt = options.received, options.persona
        if self.brought.additions:
            prompt = PromptBuilder(options.workspace, additions=self.brought.additions)
        self.offers.add_by_type(prompt)
        return assemble_agent(
            bus=self.bus,
            models=self.provider,
            blobs=received.blobs if received else None,
            tools=self.tools,
            prompt=prompt,
            clock=self.home.clock,
            ids=self.home.ids,
            settings=options.settings,
            types=types,
            stages=options.stages(self),
            check=options.check,
            summarizing=self._summarizing(),
            receipts=ChatReceipts(self.journal, self.home.clock, lambda _: options.receipts),
            capacity=options.capacity,
            retries=Retries(),
            asker=provided(ASKER),
        )

    def _summarizing(self) -> Summarizing | None:
        make = provided(SUMMARIES)
        return None if make is None else make(self.home.clock).keeping(self.brought.lasting)

    def _engine(self, agent: AgentParts, options: Options) -> Engine:
        clock = self.home.clock
        return Engine(
            bus=self.bus,
            worker=agent.worker,
            models=self.provider,
            records=self.records,
            tools=self.tools,
            clock=clock,
            zone=options.settings.zone,
            began=clock.monotonic() - 60.0,
        )

    def _host(self, options: Options) -> None:
        channel, clock = self.channel, self.home.clock
        rng = random.Random(0)  # noqa: S311 - the same jitter every time
        fetcher = None
        if options.received is not None and isinstance(channel, Fetching):
            fetcher = AttachmentFetcher(
                channel.name, channel, self.bus, clock, options.received, options.max_attachment
            )
        sharing = Sharing()
        if options.sharing is not None:
            sharing = options.sharing(self.process, self.journal.writer)
        hosting = msgspec.structs.replace(
            options.hosting,
            companions=partial(self._companions, options),
            text_of=self.worker.text_so_far,
            fetcher=fetcher,
            arrived=self.engine.records.arrived,
            sharing=sharing,
        )
        self.host = ChannelHost(channel.name, channel, self.bus, clock, rng, hosting)
        gate = Gate(
            options.owners,
            options.members,
            options.guests,
            options.groups,
            strangers=self.offers.find(Strangers),
        )
        self.intake = ChannelIntake(
            channel.name,
            gate,
            self.bus,
            reception(self.operations),
            options.policy,
            self.host,
        )

    def _companions(self, options: Options, parts: ChannelParts) -> list[Companion]:
        own = {ChannelParts: parts, Bus: self.bus, Clock: self.home.clock, Journal: self.journal}
        found = installed().found
        each = [found[name].plugin.companions for name in options.companions]
        given = [self.offers.call(resolved(part), own) for part in each if part is not None]
        return [*options.hosting.companions(parts), *(one for many in given for one in many)]

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = [
            tasks.create_task(self.worker.run(), name="agent"),
            tasks.create_task(self.host.run(self.intake), name=self.host.name),
        ]

    def stop(self) -> None:
        """End like a process that is told to: active runs are released."""
        for task in self._tasks:
            task.cancel()

    def crash(self) -> None:
        """End like a process that is killed: nothing more is written."""
        self.process.dead = True
        self.stop()

    async def settle(self) -> None:
        """Let every task run until it blocks: no thread and no time is involved, so turns of the
        loop suffice.
        """
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    def facts(self) -> Facts:
        """What it is and where."""
        channels = {self.host.name: self.host.state}
        return Facts(version="test", home="memory", pid=1, serving=True, channels=channels)


@asynccontextmanager
async def gateway(
    provider: ScriptedProvider | None = None,
    channel: FakeChannel | None = None,
    *,
    tools: Sequence[AnyTool] = (),
    home: MemoryHome | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
) -> AsyncIterator[FakeGateway]:
    """A running gateway. Over the `home` of an earlier one, it continues where that one ended.

    An exception inside is raised as an ExceptionGroup, as by any TaskGroup.
    """
    kept = home or MemoryHome()
    fake = FakeGateway(
        Process(kept, store_hooks(options.ledger, options.quiet, options.hooks)),
        kept,
        provider or ScriptedProvider(),
        channel or FakeChannel(),
        tools,
        options,
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            await fake.worker.recover()
            fake.start(tasks)
            await fake.settle()
            yield fake
            fake.stop()
    finally:
        if home is None:
            await kept.close()
