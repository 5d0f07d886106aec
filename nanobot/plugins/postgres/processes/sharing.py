"""What the processes over one store agree on: who does what, and what they tell each other."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.app.peers import ThisProcess
from nanobot.bus.core import Bus
from nanobot.plugins.common.store.runs import StoredRuns
from nanobot.plugins.postgres.processes import left_work
from nanobot.plugins.postgres.processes.channel_lease import ChannelLease
from nanobot.plugins.postgres.processes.chat_leases import SharedChatLeases
from nanobot.plugins.postgres.processes.over_store import OverStore
from nanobot.plugins.postgres.processes.peers import PeerProcesses
from nanobot.plugins.postgres.store.beats import Beats
from nanobot.plugins.postgres.store.leases import SqlLeases
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.session.journal import Journal
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext


class Leased:
    """See channels.sharing.Sharing. `beats` renew the leases of this process; `line` is the channel
    of notices that it listens on."""

    def __init__(
        self, database: Database, writer: StoreContext, line: Callable[[], str] = str
    ) -> None:
        self._leases = SqlLeases(database, writer)
        self.beats = Beats(self._leases, writer.clock, line)
        self.clock = writer.clock

    def turn(self, name: str, *, shares: bool = False) -> ChannelLease:
        return ChannelLease(name, self.beats, self.clock, shares=shares)

    def chats(self, channel: str, journal: Journal) -> SharedChatLeases:
        return SharedChatLeases(channel, journal, self._leases, self.clock)

    async def outbox(self, channel: str, bus: Bus) -> None:
        await left_work.outbox(channel, bus, self.clock)

    async def files(self, channel: str, bus: Bus) -> None:
        await left_work.files(channel, bus, self.clock)


class PostgresProcesses(Leased):
    """See app.peers.SharedStore."""

    def __init__(self, database: Database, writer: StoreContext, notices: Notices) -> None:
        super().__init__(database, writer, lambda: notices.line)
        self._notices = notices
        self._runs = StoredRuns(database, writer)

    async def _ended(self, run_id: str) -> bool:
        run = await self._runs.run(run_id)
        return run is None or run.ended_at is not None

    def processes(self, bus: Bus, this: ThisProcess) -> PeerProcesses:
        return PeerProcesses(
            OverStore(self._notices, self.clock, self.beats, self._ended), bus, this
        )
