"""The composition root: the parts of a gateway. No other module knows every concrete class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from nanobot.agent.askers import ASKER
from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.summarizers import Summaries
from nanobot.agent.tool_calls import Receipts, Retries
from nanobot.app import bringing, plugin_calls
from nanobot.app.agent import (
    AgentParts,
    assemble_agent,
    capacity,
    run_settings,
)
from nanobot.app.blob_storage import blobs_of
from nanobot.app.hosting import Adapters, ChannelStarter, HostedChannels, hosted, owners_of
from nanobot.app.live_settings import LiveSettings
from nanobot.app.peers import SCHEDULER, sharing_of
from nanobot.app.plugged import Plugged
from nanobot.app.program import Program
from nanobot.app.roles import Roles
from nanobot.bus.core import Bus
from nanobot.bus.gate import Strangers
from nanobot.channels.chat_leases import Sharing
from nanobot.channels.host import Hosting
from nanobot.config.loader import Config
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.engine import Engine
from nanobot.ports import Clock, Ids
from nanobot.providers.base import Models
from nanobot.providers.clients import Clients
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.entry_points import Plugins
from nanobot.seam.http import Http
from nanobot.seam.installed import provided
from nanobot.seam.offers import Contributions, Environment, Restart
from nanobot.seam.tables import PluginTables
from nanobot.session.inbox import Busy
from nanobot.session.journal import Journal
from nanobot.session.lasting import LastingFacts
from nanobot.session.records import Records
from nanobot.session.run_types import NO_TYPES, RunTypes
from nanobot.store.opening import Store
from nanobot.store.plugin_tables import SqlPluginTables
from nanobot.store.records import SqlRecords
from nanobot.supervision import Work, side_by_side
from nanobot.system import Zone
from nanobot.tools.judge import judge_by
from nanobot.tools.plugins import register_installed
from nanobot.tools.redact import Redactor
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs
from nanobot.workspace.received import Received, Transcriber, WorkspaceFiles
from nanobot.zones import zone_or_utc


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's access to its process and machine. `zone`: the name of its time zone."""

    environ: Mapping[str, str]
    clock: Clock
    ids: Ids
    redact: Redactor
    began: float
    zone: str
    restart: Callable[[], None] | None = None


class Parts:
    """The parts of a gateway over an open store, within a `program` if there is one: built, but not
    started. Raises ConfigError, and UsageError for invalid tools."""

    def __init__(
        self,
        config: Config,
        store: Store,
        machine: Machine,
        program: Program,
        roles: Roles,
        plugged: Plugged,
    ) -> None:
        self.config, self.store, self.plugged = config, store, plugged
        self.machine, self.program, self.roles = machine, program, roles
        self.live = LiveSettings(config)
        self.channels = HostedChannels()
        busy = Busy(mode=config.agent.when_busy, collect_seconds=config.agent.collect_seconds)
        self.bus = Bus(store.journal, config.agent.lane_limit, busy)
        self.bus.drives = roles.worker
        self.plugins = Plugins()
        self.models = ProviderRegistry(
            config.agent.model,
            config.providers,
            machine.environ,
            config.home,
            machine.clock,
            program.provider or Clients(self.plugins, plugged.switched),
        )
        self.blobs = program.blobs or blobs_of(config)
        self.received = Received(self.blobs)
        self.records = SqlRecords(store.database, store.writer)
        self.guard = store.guard
        policy = judge_by(config.policy, bringing.rules_of(plugged))
        logged = program == Program()
        self.tools = ToolRegistry(policy=policy, redact=machine.redact, log_calls=logged)
        self.tools.blobs = self.blobs
        self.http = self._offered()
        self.sharing = sharing_of(store, plugged)
        offers = plugged.offers
        offers.add({Sharing: self.sharing})
        self.hosted = hosted(config, asking=offers.has(Strangers))
        store.writer.owners = owners_of(self.hosted.channels)
        self._register_tools()
        agent = self._agent()
        self.worker = agent.worker
        bringing.name_idle_triggers(plugged)
        offers.add_by_type(agent.worker)
        bringing.offer_objects(plugged, "worker_objects")
        self.engine = self._engine()
        offers.add_by_type(self.engine)
        self.operations = Dispatcher(self.engine, bringing.operations_of(plugged), offers)
        offers.add_by_type(self.operations, agent.model_calls)
        self.starter = self._starter()
        work = partial(side_by_side, plugged.works("one_process", machine.clock), machine.clock)
        self.one_process: Work = partial(self.sharing.alone, SCHEDULER, work)
        """What one of the processes over a store does at a time."""
        self.peers = self.sharing.processes(offers)
        self.moments = plugin_calls.Moments(plugged)

    def _offered(self) -> Http:
        """Offer the objects that plugins may request; returns the one that serves HTTP."""
        machine, offers = self.machine, self.plugged.offers
        offers.add({Clock: machine.clock, Ids: machine.ids, Zone: Zone(machine.zone)})
        offers.add({Journal: self.bus.journal, Config: self.config})
        offers.add({Records: self.records, Models: self.models, Blobs: self.blobs})
        offers.add_by_type(self.store, self.bus, self.models, self.received)
        offers.add_by_type(self.channels, self.live, self.roles, self.plugged)
        offers.add({Environment: machine.environ, Redactor: machine.redact})
        offers.add({Contributions: self.plugged})
        if machine.restart is not None:
            offers.add({Restart: Restart(machine.restart)})
        offers.add({PluginTables: SqlPluginTables(self.store.database), ToolRegistry: self.tools})
        bringing.offer_objects(self.plugged, "always_objects")
        bringing.offer_objects(self.plugged, "objects")
        http: Http = offers.find(Http) or Http()
        offers.add({Http: http})
        self.received.files = offers.find(WorkspaceFiles)
        self.received.transcriber = offers.find(Transcriber)
        bringing.subscribe_plugins(self.plugged, self.bus)
        plugin_calls.take_changes(self.plugged, self.bus)
        return http

    def _starter(self) -> ChannelStarter:
        def text_of(run_id: str) -> str | None:
            text = self.worker.text_so_far(run_id)
            return self.bus.peers.text_so_far(run_id) if text is None else text

        return ChannelStarter(
            config=self.hosted,
            channels=self.channels,
            bus=self.bus,
            operations=self.operations,
            adapters=Adapters(self.hosted, self.plugins, self.http),
            received=self.received,
            clock=self.machine.clock,
            strangers=self.plugged.offers.find(Strangers),
            hosting=Hosting(
                companions=partial(bringing.companions_of, self.plugged),
                text_of=text_of,
                blobs=self.blobs,
                arrived=self.records.arrived,
                sharing=self.sharing,
            ),
        )

    def _engine(self) -> Engine:
        return Engine(
            bus=self.bus,
            worker=self.worker,
            models=self.models,
            records=self.records,
            tools=self.tools,
            clock=self.machine.clock,
            zone=zone_or_utc(self.machine.zone).key,  # on the clocks that people see
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
            asker=provided(ASKER, self.plugged.on),
        )
        offers.add_by_type(agent)
        return agent
