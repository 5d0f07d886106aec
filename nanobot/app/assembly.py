"""The composition root: the only module that knows every concrete class."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from nanobot import __version__
from nanobot.agent.accompanying import with_kept
from nanobot.agent.askers import ASKER
from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.summarizers import Summaries
from nanobot.agent.tool_calls import Receipts, Retries
from nanobot.agent.worker import Worker
from nanobot.app import bringing, plugin_calls
from nanobot.app.agent import (
    AgentDependencies,
    AgentParts,
    assemble_agent,
    capacity,
    run_settings,
)
from nanobot.app.blob_storage import blobs_of
from nanobot.app.gateway_parts import Parts
from nanobot.app.hosting import Adapters, ChannelStarter, HostedChannels, hosted, owners_of
from nanobot.app.live_settings import LiveSettings
from nanobot.app.machine import Machine
from nanobot.app.peers import SCHEDULER, ServedChannels, SharedJobs, sharing_of
from nanobot.app.plugged import Plugged
from nanobot.app.program import Program
from nanobot.app.roles import Roles
from nanobot.app.zones import shown_zone
from nanobot.bus.core import Bus
from nanobot.bus.gate import Strangers
from nanobot.channels.chat_leases import Sharing
from nanobot.config.loader import Config
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.engine import Engine
from nanobot.operations.home import Facts, LiveChanges
from nanobot.operations.home_admin import HomeAdmin
from nanobot.ports import Clock, Ids
from nanobot.propagation import Propagation
from nanobot.providers.base import Models
from nanobot.providers.clients import Clients
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.entry_points import Plugins
from nanobot.seam.faces import Environment, Http
from nanobot.seam.installed import provided
from nanobot.seam.offers import Contributions
from nanobot.seam.tables import PluginTables
from nanobot.session.inbox import Busy
from nanobot.session.journal import Journal
from nanobot.session.lasting import LastingFacts
from nanobot.session.run_types import NO_TYPES, RunTypes
from nanobot.session.views import Records
from nanobot.store.opening import Store
from nanobot.store.plugin_tables import SqlPluginTables
from nanobot.store.repositories.records import SqlRecords
from nanobot.supervision import Work, side_by_side
from nanobot.system import Zone
from nanobot.tools.plugins import register_installed
from nanobot.tools.policy import Policy
from nanobot.tools.redact import Redactor
from nanobot.tools.registry import ToolRegistry
from nanobot.troubles import TROUBLES
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received, Transcriber, WorkspaceFiles


def assemble(
    config: Config,
    store: Store,
    machine: Machine,
    program: Program | None = None,
    roles: Roles = Roles(),  # noqa: B008 - frozen
    plugged: Plugged | None = None,
) -> Parts:
    """Build a gateway over an open store, within a `program` if there is one. Raises ConfigError,
    and UsageError for invalid tools."""
    plugged = plugged or Plugged(config)
    return _Assembly(config, store, machine, program or Program(), roles, plugged).parts()


class _Assembly:
    """State shared while the parts are built."""

    def __init__(
        self,
        config: Config,
        store: Store,
        machine: Machine,
        program: Program,
        roles: Roles,
        plugged: Plugged,
    ) -> None:
        self.plugged = plugged
        self.config, self.store, self.machine = config, store, machine
        self.live = LiveSettings(config)
        self.program, self.roles = program, roles
        self.channels, self.propagation = HostedChannels(), Propagation()
        agent = config.agent
        busy = Busy(mode=agent.when_busy, collect_seconds=agent.collect_seconds)
        self.bus = Bus(store.journal, agent.lane_limit, busy)
        self.bus.arrivals.append(with_kept)
        self.bus.drives = roles.worker
        self.chats = ServedChannels(config.addressed, self.bus)
        self.plugins = Plugins()
        self.models = ProviderRegistry(
            agent.model,
            config.providers,
            machine.environ,
            config.home,
            machine.clock,
            program.provider or Clients(self.plugins, plugged.switched),
        )
        self.blobs = program.blobs or blobs_of(config)
        self.received = Received(self.blobs)
        self.records = SqlRecords(store.database, store.writer)
        self.jobs: SharedJobs | None = None
        self.http = Http()
        policy = Policy(config.policy, bringing.rules_of(plugged))
        logged = program == Program()
        self.tools = ToolRegistry(policy=policy, redact=machine.redact, log_calls=logged)
        self.tools.blobs = self.blobs

    def parts(self) -> Parts:
        self._offer()
        self.sharing = sharing_of(self.store, self.plugged)
        self.plugged.offers.add({Sharing: self.sharing})
        self.hosted = hosted(self.config, asking=self.plugged.offers.has(Strangers))
        self.store.writer.owners = owners_of(self.hosted.channels)
        self._register_tools()
        agent = self._agent()
        seen = bringing.gather_triggers(self.plugged)
        self.plugged.offers.add_by_type(agent.worker)
        bringing.offer_objects(self.plugged, "worker_objects")
        engine = self._engine(agent, partial(self._facts, seen))
        self.plugged.offers.add_by_type(engine)
        operations = Dispatcher(engine, bringing.operations_of(self.plugged), self.plugged.offers)
        self.plugged.offers.add_by_type(operations)
        self.plugged.offers.add_by_type(agent.model_calls)
        return Parts(
            guard=self.store.guard,
            engine=engine,
            operations=operations,
            worker=agent.worker,
            models=self.models,
            received=self.received,
            http=self.http,
            channels=self.channels,
            starter=self._starter(agent.worker, operations),
            one_process=self._one_process(),
            peers=self.sharing.processes(self.plugged.offers),
            live=self.live,
            plugged=self.plugged,
            moments=plugin_calls.Moments(self.plugged),
        )

    def _offer(self) -> None:
        """Offer the objects that plugins may request."""
        machine, offers = self.machine, self.plugged.offers
        offers.add({Clock: machine.clock, Ids: machine.ids, Zone: Zone(machine.zone)})
        offers.add({Journal: self.bus.journal, Config: self.config})
        offers.add({Records: self.records, Models: self.models, Blobs: self.blobs})
        offers.add_by_type(self.store, self.bus, self.models, self.received)
        offers.add_by_type(self.chats, self.channels, self.live)
        offers.add_by_type(self.propagation)
        offers.add({Environment: machine.environ, Redactor: machine.redact})
        offers.add({Contributions: self.plugged})
        offers.add_by_type(self.plugged)
        offers.add({PluginTables: SqlPluginTables(self.store.database), ToolRegistry: self.tools})
        bringing.offer_objects(self.plugged, "always_objects")
        bringing.offer_objects(self.plugged, "objects")
        self.http = offers.find(Http) or self.http
        offers.add({Http: self.http})
        self.jobs = offers.find(SharedJobs)
        if self.jobs is not None:
            self.jobs.on_announced = lambda: self.bus.peers.jobs_changed()  # noqa: PLW0108 - others come later
        self.received.files = offers.find(WorkspaceFiles)
        self.received.transcriber = offers.find(Transcriber)
        bringing.subscribe_plugins(self.plugged, self.bus)
        plugin_calls.bring_propagator(self.plugged, self.propagation)
        plugin_calls.take_changes(self.plugged, self.bus)

    def _starter(self, worker: Worker, operations: Dispatcher) -> ChannelStarter:
        def text_of(run_id: str) -> str | None:
            text = worker.text_so_far(run_id)
            return self.bus.peers.text_so_far(run_id) if text is None else text

        strangers: Strangers | None = self.plugged.offers.find(Strangers)

        return ChannelStarter(
            config=self.hosted,
            channels=self.channels,
            bus=self.bus,
            text_of=text_of,
            operations=operations,
            adapters=Adapters(self.hosted, self.plugins, self.http),
            received=self.received,
            clock=self.machine.clock,
            sharing=self.sharing,
            strangers=strangers,
            companions=partial(bringing.companions_of, self.plugged),
        )

    def _one_process(self) -> Work:
        clock = self.machine.clock
        work = partial(side_by_side, self.plugged.works("one_process", clock), clock)
        return partial(self.sharing.alone, SCHEDULER, work)

    def _facts(self, watches: Callable[[], Mapping[str, str]]) -> Facts:
        """What the gateway says of itself."""
        chats = self.config.served if self.roles.channels else ()
        return Facts(
            version=__version__,
            home=str(self.config.home),
            pid=os.getpid(),
            serving=self.channels.serving,
            channels=dict.fromkeys(chats, "off") | self.channels.states(),
            lacks=self.channels.lacks,
            addressed=self.config.addressed,
            web=self.http.url,
            watches=watches(),
            role=str(self.roles),
            troubles=tuple(map(str, TROUBLES.recent())),
        )

    def _engine(self, agent: AgentParts, facts: Callable[[], Facts]) -> Engine:
        clock = self.machine.clock
        live = self.live
        return Engine(
            bus=self.bus,
            worker=agent.worker,
            models=self.models,
            records=self.records,
            tools=self.tools,
            home=HomeAdmin(
                lambda: live.config,
                self.machine.environ,
                restart=self.machine.restart,
                changes=self.plugged.offers.find(LiveChanges),
                plugins=self.plugged.views,
            ),
            facts=facts,
            clock=clock,
            zone=shown_zone(self.machine.zone),
            began=self.machine.began,
        )

    def _register_tools(self) -> None:
        """Register the tools of packages and plugins."""
        register_installed(self.tools, self.plugins)
        bringing.register_plugged(self.tools, self.plugged)
        bringing.set_stand_in(self.tools, self.plugged)
        plugin_calls.filter_results(self.tools, self.plugged)
        for added in self.program.tools:
            self.tools.register(added)

    def _agent(self) -> AgentParts:
        settings = self.config.agent
        additions = plugin_calls.additions_to_prompts(self.plugged)
        prompt = PromptBuilder(
            self.config.workspace, additions, name=settings.name, persona=settings.persona
        )
        offers, tools = self.plugged.offers, self.program.offered(self.tools)
        offers.add_by_type(prompt)
        offers.add({ToolRegistry: tools})
        self.live.in_prompts += tuple(key for each in additions for key in each.keys)
        summaries, lasting = offers.find(Summaries), offers.find(LastingFacts)
        summarizing = None if summaries is None else summaries.keeping(lasting)
        agent = assemble_agent(
            AgentDependencies(
                bus=self.bus,
                models=self.program.shaped(self.models),
                blobs=self.blobs,
                tools=tools,
                prompt=prompt,
                clock=self.machine.clock,
                ids=self.machine.ids,
                settings=run_settings(settings, self.machine.environ),
                types=self.plugged.offers.find(RunTypes) or NO_TYPES,
                stages=plugin_calls.stages_of(self.plugged),
                summarizing=summarizing,
                check=plugin_calls.check_of(self.plugged),
                receipts=offers.find(Receipts),
                capacity=capacity(settings),
                retries=Retries(count=settings.tool_retries, delay=settings.tool_retry_delay),
                propagation=self.propagation,
                asker=provided(ASKER, self.plugged.on),
            )
        )
        offers.add_by_type(agent)
        return agent
