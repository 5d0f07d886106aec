"""What the processes over one store agree on: who does what, and what they tell each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from loguru import logger

from nanobot.agent.worker import Worker
from nanobot.app.peers import SCHEDULER, SharedStore
from nanobot.bus.core import Bus
from nanobot.channels.chat_leases import ChatLeases
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.postgres.processes.attended_chats import AttendedChats
from nanobot.plugins.postgres.processes.channel_lease import ChannelLease
from nanobot.plugins.postgres.processes.chat_leases import SharedChatLeases
from nanobot.plugins.postgres.processes.lane_leases import LaneLeases
from nanobot.plugins.postgres.processes.over_store import OverStore
from nanobot.plugins.postgres.processes.peers import NO_WORK, PeerProcesses
from nanobot.plugins.postgres.processes.serving import LeasedChannel
from nanobot.plugins.postgres.processes.this_process import ThisProcess, this_process
from nanobot.plugins.postgres.store.beats import Beats
from nanobot.plugins.postgres.store.leases import SqlLeases
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.ports import Channel
from nanobot.seam.offers import Offers
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext
from nanobot.supervision import Work


class Leased(SharedStore):
    """See channels.chat_leases.Sharing. `beats` renew the leases of this process; `line` is the
    channel of notices that it listens on."""

    def __init__(
        self, database: Database, writer: StoreContext, line: Callable[[], str] = str
    ) -> None:
        self._leases = SqlLeases(database, writer)
        self.beats = Beats(self._leases, writer.clock, line)
        self.clock = writer.clock
        self.shared: list[str] = []
        """The channels whose chats several processes may send to."""
        self._alone: set[str] = set()

    def turn(self, name: str, *, shares: bool = False) -> ChannelLease:
        """The right to serve the channel of that name, or to do what a name in parentheses says.
        `shares`: the holder lets other processes send to the channel's chats."""
        return ChannelLease(name, self.beats, self.clock, shares=shares)

    def chats(
        self, name: str, channel: Channel, bus: Bus, attended: Callable[[str], bool] | None
    ) -> ChatLeases:
        if channel.capabilities.waits and attended is not None:
            return AttendedChats(bus.journal, self.clock, attended)
        if channel.capabilities.waits:
            return ChatLeases(bus.journal)
        if channel.capabilities.shared:
            self.shared.append(name)
        turn = self.turn(name, shares=channel.capabilities.shared)
        leased = LeasedChannel(name, channel, bus, turn, self.clock)
        return SharedChatLeases(name, bus.journal, self._leases, self.clock, leased)

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        turn = self.turn(name)

        async def working() -> None:
            self._alone.add(name)
            try:
                await work()
            finally:
                self._alone.discard(name)

        while True:
            await turn.wait()
            logger.info("{}: this process does it now", name.strip("()"))
            await turn.holding(working)

    def schedules(self) -> bool:
        """Whether this process fires jobs now."""
        return SCHEDULER in self._alone


class PostgresProcesses(Leased):
    """See app.peers.SharedStore."""

    def __init__(self, database: Database, writer: StoreContext, notices: Notices) -> None:
        super().__init__(database, writer, lambda: notices.line)
        self._notices = notices
        self._runs = StoredRuns(database, writer)

    async def _ended(self, run_id: str) -> bool:
        run = await self._runs.run(run_id)
        return run is None or run.ended_at is not None

    def processes(self, offers: Offers) -> PeerProcesses:
        bus = offers.get(Bus)
        works = NO_WORK
        if bus.drives:
            works = LaneLeases(offers.get(Worker), self._leases, bus, self.clock).works()
        peers = self.told(bus, this_process(offers, self.schedules, self.shared), works)
        jobs: JobService | None = offers.find(JobService)
        if jobs is not None:
            jobs.on_announced = peers.jobs_changed
        return peers

    def told(
        self, bus: Bus, this: ThisProcess, more: Mapping[str, Work] = NO_WORK
    ) -> PeerProcesses:
        """The others, which are told about this process."""
        over = OverStore(self._notices, self.clock, self.beats, self._ended)
        return PeerProcesses(over, bus, this, more)
