"""The Journal over SQL: each verb is a function in one transaction, named for the crash tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import StoreError
from nanobot.session.entries import Body, Entry, ModelCallEntry, PromptEntry, ReplyEntry
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.runs import Claim, Lane, NewRun, PromptSnapshot, Run
from nanobot.store.journal import (
    accounts,
    admission,
    chats,
    claiming,
    inbox,
    outbox,
    runs,
    versions,
    waiting,
)
from nanobot.store.unit import start_auxiliary, start_retry
from nanobot.store.verbs import SqlStore, verb


class SqlJournal(SqlStore):
    """See journal.Journal. SQLite and PostgreSQL share this code."""

    account = verb(accounts.use, "account")
    cursor = verb(admission.cursor)
    admit = verb(admission.admit, "admit")
    unchanged = verb(versions.unchanged)
    unfetched = verb(inbox.unfetched)
    fetched = verb(inbox.fetched, "fetched")
    begun_commands = verb(inbox.begun_commands)
    performed = verb(outbox.performed, "performed")
    ready = verb(claiming.ready)
    held = verb(claiming.held)
    take_pending = verb(claiming.take_pending, "take_pending")
    start_auxiliary = verb(start_auxiliary, "start_auxiliary")
    start_retry = verb(start_retry, "start_retry")
    start_tool = verb(runs.start_tool, "start_tool")
    record_result = verb(runs.record_result, "record_result")
    park = verb(waiting.park, "park")
    finish = verb(runs.finish, "finish")
    finish_sending = verb(runs.finish_sending, "finish+begin_send")
    release = verb(runs.release, "release")
    post = verb(outbox.post, "post")
    history = verb(claiming.history)
    snapshot = verb(runs.snapshot)
    session = verb(runs.session)
    owed_chats = verb(outbox.owed_chats)
    next_outbound = verb(outbox.next_outbound)
    outbound = verb(outbox.find)
    begin_send = verb(outbox.begin_send, "begin_send")
    receipt = verb(outbox.receipt, "receipt")
    defer = verb(outbox.defer, "defer")
    bury = verb(outbox.bury, "bury")
    move_chat = verb(chats.move, "move_chat")
    chat_moves = verb(chats.moves)

    _start_model = verb(runs.start_model, "start_model")
    _start_with_results = verb(runs.start_model, "record_result+start_model")
    _start_with_reply = verb(runs.start_model, "record_reply+record_result+start_model")
    _record_reply = verb(runs.record_reply, "record_reply")
    _record_reply_starting = verb(runs.record_reply, "record_reply+start_tool")
    _claim = verb(claiming.claim, "claim")
    _admit_claiming = verb(admission.admit_claiming, "admit+claim")

    def on_abandoned(self, call: Callable[[], None]) -> None:
        self.writer.on_abandoned.append(call)

    async def admit_claiming(
        self,
        channel: str,
        admission: Admission,
        cursor: str | None,
        lane_limit: int,
        busy: Busy,
        new: NewRun,
    ) -> Admitted:
        """What stands in the way of the claim, such as an entry that cannot be read, must not stop
        the admission."""
        with boundary("claiming a lane with the admission of a message"):
            try:
                with self.writer.held.taking() as hold:
                    return await self._admit_claiming(
                        hold, channel, admission, cursor, lane_limit, busy, new
                    )
            except StoreError as error:
                logger.warning("a message is admitted without a claim: {}", error)
        (admitted,) = await self.admit(channel, [admission], cursor, lane_limit, busy)
        return admitted

    async def start_model(
        self, lane: Lane, run: Run, bodies: Sequence[Body], prompt: PromptSnapshot | None
    ) -> tuple[Entry, ...]:
        first = type(bodies[0])
        start = self._start_with_reply if first is ReplyEntry else self._start_with_results
        if first is PromptEntry or first is ModelCallEntry:
            start = self._start_model
        return await start(lane, run, bodies, prompt)

    async def record_reply(self, lane: Lane, run: Run, *bodies: Body) -> tuple[Entry, ...]:
        record = self._record_reply if len(bodies) == 1 else self._record_reply_starting
        return await record(lane, run, *bodies)

    async def claim(self, session_key: str, run_id: str, zone: str) -> Claim | None:
        """The caller holds the lane from the claim on, unless it never learns of the claim."""
        with self.writer.held.taking() as hold:
            return await self._claim(hold, session_key, run_id, zone)

    def let_go(self, lane: Lane) -> None:
        self.writer.held.let_go(lane)
