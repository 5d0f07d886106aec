"""The MessageBus: the bus as a library offers it, over a private store unless it is given one."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec

from nanobot.bus.core import Bus
from nanobot.bus.wake_ups import Turn
from nanobot.errors import Fenced, UsageError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Role, session_key
from nanobot.plugins.common.jobs.service import JOB_STORE, Jobs
from nanobot.plugins.common.runs.background_runs import TASK_STORE, TaskRecords
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.library.store import Consumed, Consuming
from nanobot.ports import OutboundPart
from nanobot.seam.installed import provided
from nanobot.session.inbox import Admission
from nanobot.session.journal import Journal
from nanobot.session.outbox import OutboundRow
from nanobot.session.states import RunKind
from nanobot.store.database.database import Work
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import Store, contexts, in_memory_database
from nanobot.system import RandomIds, SystemClock
from nanobot.text import MAX_TEXT, without_controls
from nanobot.visible import blank

_LOOK_SECONDS = 2.0

T = TypeVar("T")


class _AtFirstUse:
    """A Database in memory that the first unit of work opens."""

    dialect = "sqlite"

    def __init__(self) -> None:
        self._opened: SqliteDatabase | None = None

    async def transact(self, work: Work[T], verb: str = "") -> T:
        if self._opened is None:
            self._opened = in_memory_database()
        return await self._opened.transact(work, verb)

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()


class MessageBus(Bus):
    """Inbound and outbound messages. Each is stored before it is accepted, and is handed out until
    it is settled.

    `MessageBus()` uses a private store in memory, created on first use and closed by `close()`.
    `MessageBus(journal=...)` works over a store that the caller opened. A bus is one consumer: its
    next call settles the message that it handed out. If that call never comes, this process or the
    next one offers the message again. Programs with concurrent consumers create one bus per
    consumer.
    """

    def __init__(self, journal: Journal | None = None, lane_limit: int = 50) -> None:
        self._own: Store | None = None
        if journal is None:
            context = contexts(SystemClock(), RandomIds(), store_hooks())(None, "")
            self._own = Store(_AtFirstUse(), context, None)
            journal = self._own.journal
        super().__init__(journal, lane_limit)
        self._came, self._owing = asyncio.Event(), asyncio.Event()
        self._taking, self._sending = asyncio.Lock(), asyncio.Lock()
        self._inbound: Consumed | None = None
        self._outbound: OutboundRow | None = None
        self._inbound_given = self._outbound_given = False

    @property
    def private(self) -> bool:
        """Whether the bus owns its store."""
        return self._own is not None

    @property
    def tasks(self) -> TaskRecords:
        """The records of background runs in the private store, for a SubagentManager. Raises
        UsageError if a journal was given: the code that opened that store has them. It also raises
        it if no plugin does background runs.
        """
        store, make = self._private(), provided(TASK_STORE)
        if make is None:
            raise UsageError(
                "background runs belong to the plugin tasks, which is not there: `nanobot plugins "
                "list` says why"
            )
        return make(store.database, store.writer)

    @property
    def jobs(self) -> Jobs:
        """The records of jobs in the private store, for a CronService. Raises UsageError like
        `tasks`, and if no plugin does jobs.
        """
        store, make = self._private(), provided(JOB_STORE)
        if make is None:
            raise UsageError(
                "jobs belong to the plugin jobs, which is not there: `nanobot plugins list` "
                "says why"
            )
        return make(store.database, store.writer)

    def _consuming(self) -> Consuming:
        """The verbs of a consumer over the store of the journal. Raises UsageError."""
        return Consuming.over(self.journal)

    def _private(self) -> Store:
        if self._own is None:
            raise UsageError("this bus uses a store that it did not open")
        return self._own

    async def close(self) -> None:
        """Close and discard the private store; a later call starts with an empty one. A given
        journal stays open.
        """
        if self._own is not None:
            await self._own.close()

    async def publish_inbound(self, message: InboundMessage) -> None:
        """When it returns, the message is stored as an owner's, in the session of its chat. It is
        stored once per dedupe_key, or per message_id if there is no dedupe_key. Raises UsageError
        for a message without text or with too much text. A message past the lane's limit is not
        accepted, and the chat is told so, like by the gateway.
        """
        text = without_controls(message.text)
        if len(text) > MAX_TEXT or blank(text):
            raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
        key = session_key(message.address, message.sender.id, "chat")
        kept = msgspec.structs.replace(
            message,
            text=text,
            dedupe_key=message.dedupe_key or message.message_id or RandomIds().run_id(),
            sent_at=message.sent_at or SystemClock().now(),
        )
        admission = Admission(message=kept, session_key=key, role=Role.OWNER)
        await self.admit(message.address.channel, [admission])

    async def consume_inbound(self) -> InboundMessage:
        """Take the oldest pending message; waits for one. This call settles the previous message.
        Until then, no other message of that session is handed out or answered. Cancelling the call
        loses nothing: the next call hands out the message that it took.
        """
        while True:
            self._came.clear()
            taken = await asyncio.shield(self._next_inbound())
            if taken is not None:
                self._inbound_given = True
                return taken.message
            await _news(self._came)

    async def _next_inbound(self) -> Consumed | None:
        async with self._taking:
            done = self._inbound
            if done is not None and not self._inbound_given:
                return done
            try:
                self._inbound = await self._consuming().take_inbound(done)
            except Fenced:  # held too long: another process claimed it, or a person stopped it
                self._inbound = None
                self._came.set()
            self._inbound_given = False
            if done is not None:
                self.wake(done.lane.session_key, RunKind.CHAT)
            return self._inbound

    async def publish_outbound(self, message: OutboundMessage) -> None:
        """When it returns, the message is queued for its chat, once per key, and is in the log of
        the chat's session, so that the model knows it.
        """
        await self.journal.post(session_key(message.address, "", "chat"), message)
        self.owed(message.address)

    async def consume_outbound(self) -> OutboundMessage:
        """Take the oldest unsent message of any chat; waits for one. This call records that the
        previous message was delivered before it looks for the next.
        """
        while True:
            self._owing.clear()
            row = await asyncio.shield(self._next_outbound())
            if row is not None:
                self._outbound_given = True
                return row.message
            await _news(self._owing)

    async def _next_outbound(self) -> OutboundRow | None:
        async with self._sending:
            if self._outbound is not None:
                if not self._outbound_given:
                    return self._outbound
                await self.journal.receipt(self._outbound, 0, "consumed", begin=None)
                self._outbound = None
            row = await self._consuming().oldest_owed()
            if row is not None:
                parts = () if row.parts else (OutboundPart(text=row.message.text),)
                await self.journal.begin_send(row, parts, 0, duplicate=bool(row.parts))
            self._outbound, self._outbound_given = row, False
            return row

    def wake(
        self, session_key: str, kind: RunKind, held: float = 0.0, turn: Turn = Turn.NEW
    ) -> None:
        super().wake(session_key, kind, held, turn)
        self._came.set()

    def owed(self, address: Address) -> None:
        """See Bus.owed: notifies the code that delivers for the channel, if any."""
        if address.channel in self._owed:
            super().owed(address)
        self._owing.set()


async def _news(event: asyncio.Event) -> None:
    """Wait until a message arrives at this bus, or may have arrived through another bus over the
    same store.
    """
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            await event.wait()
    except TimeoutError:
        return
