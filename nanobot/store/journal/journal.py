"""The Journal over SQL: every verb one function in one transaction, named for the crash tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreError
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.providers.base import Usage
from nanobot.session.approvals import AnswerOutcome, Approval, ApprovalAnswer, ParkResult
from nanobot.session.auxiliary import AuxiliaryCall, Reservation
from nanobot.session.entries import Body, Entry
from nanobot.session.inbox import Admission, Admitted, Busy, Consumed, Unfetched
from nanobot.session.journal import Effects
from nanobot.session.outbox import BuryScope, OutboundRow
from nanobot.session.runs import (
    Claim,
    Ending,
    Lane,
    PromptSnapshot,
    Ready,
    Run,
    RunOutcome,
    SessionRow,
)
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import schema
from nanobot.store.database.sqlite import Database
from nanobot.store.journal import (
    accounts,
    admission,
    approvals,
    channel_leases,
    chats,
    claiming,
    direct,
    inbox,
    lanes,
    log,
    outbox,
    previews,
    runs,
)
from nanobot.store.unit import StoreContext

T = TypeVar("T")

VERBS = (
    "admit",
    "fetched",
    "claim",
    "take_pending",
    "start_model",
    "start_auxiliary",
    "start_retry",
    "record_reply",
    "start_tool",
    "record_result",
    "park",
    "answer",
    "finish",
    "release",
    "post",
    "take_inbound",
    "abort",
    "preview",
    "begin_send",
    "receipt",
    "defer",
    "bury",
    "move_chat",
)
"""The verbs that write, as NANOBOT_CRASH_AT takes them."""


class SqlJournal:
    """See journal.Journal: the same code for SQLite and PostgreSQL."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self._database = database
        self._writer = writer

    async def _do(self, verb: str, work: Callable[[sa.Connection], T]) -> T:
        return await self._database.transact(work, verb)

    async def account(self, channel: str, identity: str) -> None:
        """Who the channel's adapter is."""
        await self._do("account", lambda c: accounts.use(c, channel, identity))

    async def cursor(self, channel: str) -> str | None:
        """Where a channel's intake stands."""
        return await self._do("", lambda c: admission.cursor(c, channel))

    async def admit(
        self,
        channel: str,
        admissions: Sequence[Admission],
        cursor: str | None,
        lane_limit: int,
        busy: Busy = Busy(),  # noqa: B008 - frozen
    ) -> list[Admitted]:
        """Take messages in with the channel's cursor."""
        return await self._do(
            "admit",
            lambda c: admission.admit(
                c, self._writer, admission.Batch(channel, admissions, cursor, lane_limit, busy)
            ),
        )

    async def unfetched(self, channel: str) -> list[Unfetched]:
        """Messages whose files are not here yet."""
        return await self._do("", lambda c: inbox.unfetched(c, channel))

    async def fetched(
        self, inbound_id: int, attachments: Sequence[Attachment]
    ) -> tuple[str, RunKind] | None:
        """What came of a message's files."""
        return await self._do("fetched", lambda c: inbox.fetched(c, inbound_id, attachments))

    async def ready(self) -> list[Ready]:
        """Lanes with something to do that nobody holds."""
        return await self._do("", lambda c: claiming.ready(c, self._writer))

    async def claim(self, session_key: str, run_id: str, zone: str) -> Claim | None:
        """Own a lane and get its run."""
        with self._writer.held.taking() as hold:
            return await self._do(
                "claim", lambda c: claiming.claim(c, self._writer, hold, session_key, run_id, zone)
            )

    def let_go(self, lane: Lane) -> None:
        """Nobody here drives a lane any more."""
        self._writer.held.let_go(lane)

    async def held(self, session_key: str) -> float:
        """Seconds until what waits may be claimed."""
        return await self._do("", lambda c: claiming.held(c, self._writer, session_key))

    async def take_pending(self, lane: Lane, run: Run, zone: str) -> tuple[Entry, ...]:
        """Steer the run with what its sender said meanwhile."""
        return await self._do(
            "take_pending", lambda c: claiming.take_pending(c, self._writer, lane, run, zone)
        )

    async def start_model(
        self, lane: Lane, run: Run, bodies: Sequence[Body], prompt: PromptSnapshot | None
    ) -> tuple[Entry, ...]:
        """A model call is about to be made."""
        return await self._do(
            "start_model", lambda c: runs.start_model(c, self._writer, lane, run, bodies, prompt)
        )

    async def start_auxiliary(self, lane: Lane, run: Run, call: AuxiliaryCall) -> Reservation:
        """A model is about to be asked beside the run's own calls."""
        return await self._do("start_auxiliary", lambda c: self._writer.aside(c, lane, run, call))

    async def start_retry(self, lane: Lane, run: Run, discarded: Usage) -> None:
        """One more request of a call is about to be made."""
        await self._do("start_retry", lambda c: self._writer.start_retry(c, lane, run, discarded))

    async def record_reply(self, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
        """The model asked for tools."""
        return await self._advance("record_reply", lane, run, (body,))

    async def start_tool(self, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
        """An effect on the world is about to happen."""
        return await self._advance("start_tool", lane, run, (body,))

    async def record_result(
        self,
        lane: Lane,
        run: Run,
        bodies: Sequence[Body],
        effects: Effects = (),
    ) -> tuple[Entry, ...]:
        """What tool calls gave, send and keep."""
        return await self._advance("record_result", lane, run, bodies, effects)

    async def _advance(
        self,
        verb: str,
        lane: Lane,
        run: Run,
        bodies: Sequence[Body],
        effects: Effects = (),
    ) -> tuple[Entry, ...]:
        def work(connection: sa.Connection) -> tuple[Entry, ...]:
            made = log.append(connection, self._writer, lane, run.id, bodies)
            if self._writer.ledger is not None:
                self._writer.ledger.settle(connection, run, bodies)
            if verb == "record_reply":
                runs.transition(connection, run, RunState.TOOL_RUNNING, progress=True)
            elif verb == "record_result":
                runs.progressed(connection, run)
            for effect in effects:
                if not isinstance(effect, OutboundMessage):
                    effect.write(connection)
                elif effect.address == run.address:
                    outbox.owe(connection, self._writer, lane.session_key, run.id, [effect])
                else:
                    outbox.post(connection, self._writer, str(effect.address), effect)
            return made

        return await self._do(verb, work)

    async def park(self, lane: Lane, run: Run, asked: Approval) -> ParkResult:
        """Ask a person, and wait as a row."""
        return await self._do("park", lambda c: approvals.park(c, self._writer, lane, run, asked))

    async def answer(self, identity: int, given: ApprovalAnswer) -> AnswerOutcome | None:
        """A person's answer."""
        return await self._do(
            "answer", lambda c: approvals.answer(c, self._writer, identity, given)
        )

    async def finish(self, lane: Lane, run: Run, ending: Ending) -> bool:
        """End the run with all that it owes."""
        return await self._do("finish", lambda c: runs.finish(c, self._writer, lane, run, ending))

    async def release(self, lane: Lane, run: Run) -> None:
        """Give a live run back unfinished."""
        await self._do("release", lambda c: runs.release(c, self._writer, lane, run))

    async def renew(self) -> None:
        """Extend the leases held."""
        await self._do("", lambda c: lanes.renew(c, self._writer))

    async def post(self, session_key: str, message: OutboundMessage) -> None:
        """Say something unasked."""
        await self._do("post", lambda c: outbox.post(c, self._writer, session_key, message))

    async def take_inbound(self, done: Consumed | None) -> Consumed | None:
        """Settle the last message of a consumer and take the next."""
        with self._writer.held.taking() as hold:
            taken = await self._do(
                "take_inbound", lambda c: direct.take_inbound(c, self._writer, hold, done)
            )
        if done is not None:
            self._writer.held.let_go(done.lane)
        return taken

    async def outcome(self, address: Address, run_id: str) -> RunOutcome | None:
        """How far the run of a message has come."""
        return await self._do("", lambda c: direct.outcome(c, address, run_id))

    async def abort(self, address: Address, run_id: str, ending: Ending) -> Run | None:
        """End the run of a message."""
        return await self._do(
            "abort", lambda c: direct.abort(c, self._writer, address, run_id, ending)
        )

    async def oldest_owed(self) -> OutboundRow | None:
        """The oldest unsent message."""
        return await self._do("", outbox.oldest_owed)

    async def history(self, session_key: str) -> tuple[Entry, ...]:
        """The window of a session's log."""
        return await self._do("", lambda c: direct.history(c, session_key))

    async def snapshot(self, digest: str) -> PromptSnapshot:
        """A stored prompt."""
        query = sa.select(schema.prompts.c.body).where(schema.prompts.c.digest == digest)
        body = await self._do("", lambda c: c.scalar(query))
        if body is None:
            raise StoreError(f"the prompt {digest} is missing from the store")
        return msgspec.json.decode(body, type=PromptSnapshot)

    async def session(self, session_key: str) -> SessionRow | None:
        """A session as people list it."""
        return await self._do("", lambda c: runs.session(c, session_key))

    async def set_model(self, session_key: str, model: str | None) -> None:
        """The model of a session's next calls."""
        await self._do("set_model", lambda c: log.set_model(c, self._writer, session_key, model))

    async def owed_chats(self, channel: str) -> list[Address]:
        """Chats with something unsent."""
        return await self._do("", lambda c: outbox.owed_chats(c, channel))

    async def next_outbound(self, address: Address) -> OutboundRow | None:
        """The oldest unsent message of a chat."""
        return await self._do(
            "", lambda c: outbox.next_outbound(c, address.channel, address.chat_id)
        )

    async def outbound(self, key: str) -> OutboundRow | None:
        """The message of that key."""
        return await self._do("", lambda c: outbox.find(c, key))

    async def preview(
        self, run_id: str, message: OutboundMessage, part: OutboundPart
    ) -> OutboundRow | None:
        """A preview is about to be shown."""
        return await self._do(
            "preview", lambda c: previews.preview(c, self._writer, run_id, message, part)
        )

    async def begin_send(
        self, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, *, duplicate: bool
    ) -> None:
        """A part is about to be sent."""
        await self._do(
            "begin_send",
            lambda c: outbox.begin_send(c, self._writer, row, parts, idx, duplicate=duplicate),
        )

    async def receipt(
        self, row: OutboundRow, idx: int, message_id: str, *, begin: int | None
    ) -> OutboundRow | None:
        """A part was sent."""
        return await self._do(
            "receipt",
            lambda c: outbox.receipt(c, self._writer, row, idx, message_id, begin=begin),
        )

    async def defer(self, row: OutboundRow, idx: int, not_before: float, error: str) -> None:
        """Nothing was applied: later."""
        await self._do("defer", lambda c: outbox.defer(c, row, idx, not_before, error))

    async def bury(self, row: OutboundRow, error: str, *, scope: BuryScope) -> int:
        """A final failure."""
        return await self._do(
            "bury", lambda c: outbox.bury(c, self._writer, row, error, scope=scope)
        )

    async def hold_channel(self, channel: str) -> bool:
        """Whether this process serves a channel."""
        return await self._do("", lambda c: channel_leases.hold(c, self._writer, channel))

    async def leave_channel(self, channel: str) -> None:
        """Somebody else may serve it."""
        await self._do("", lambda c: channel_leases.leave(c, self._writer, channel))

    async def move_chat(self, channel: str, old: str, new: str) -> bool:
        """A chat goes on under another id."""
        return await self._do("move_chat", lambda c: chats.move(c, channel, old, new))

    async def chat_moves(self, channel: str) -> list[tuple[str, str]]:
        """Where the chats of a channel went."""
        return await self._do("", lambda c: chats.moves(c, channel))
