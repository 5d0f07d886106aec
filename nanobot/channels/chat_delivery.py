"""Delivers to one chat: its messages in order, each send recorded before and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from loguru import logger

from nanobot.channels.delivery_parts import DeliveryParts
from nanobot.channels.departures import Departure
from nanobot.channels.look_ups import LookUps
from nanobot.channels.next_move import (
    Answer,
    Bury,
    Edit,
    Failure,
    Follow,
    Keep,
    LookUp,
    Memory,
    Move,
    Park,
    Reform,
    Render,
    Repeat,
    Send,
    Wait,
    Work,
    next_move,
    standing,
)
from nanobot.channels.repeats import REPEAT_LINE, marked, perhaps_several
from nanobot.errors import (
    ChatMoved,
    DeliveryError,
    Fenced,
    FormRefused,
    Refused,
    StoreError,
    Uncertain,
)
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Confiding, OutboundPart
from nanobot.retries import STORE_RETRY_SECONDS, until_stored
from nanobot.session.outbox import OutboundRow

MAX_AGE_SECONDS = 24 * 3600.0
"""A message fails by age, never by its number of attempts, because an outage is not its fault."""

# An ended process stored its waiting time by a clock that may have been set since.
_LONGEST_INHERITED_WAIT = 60.0

T = TypeVar("T")


class Left(msgspec.Struct, frozen=True):
    """Nothing can be done about the message now; `row` is the chat's next message."""

    row: OutboundRow | None


DeliveryStep: TypeAlias = Work | Left


class ChatDelivery:
    """Delivers one chat's messages until none is left. `next_move` decides; this class acts.
    `departure`: the chat's first message, if it is still to be stored."""

    def __init__(
        self, address: Address, parts: DeliveryParts, departure: Departure | None = None
    ) -> None:
        self.address = address
        self._departure = departure
        self._sender = parts.sender
        self._journal = parts.journal
        self._clock = parts.clock
        self._parts = parts
        self._can = parts.sender.channel.capabilities
        self._waited_for = 0
        self._look_ups = LookUps(parts)
        self._failures = 0
        self._recovered = False
        self.elsewhere: str | None = None
        """Set when another process must send to the chat: which one ("": the one that receives)."""

    async def drain(self) -> None:
        """Send messages, oldest first, until none is left or another process sends to the chat.
        Raises NobodyThere when it has to wait until a client attaches."""
        row = None if self._departure is None else await self._departure.stored()
        row = row or await self._next()
        while row is not None:
            private = self._helping and row.message.only_for
            if private and isinstance(self._sender.channel, Confiding):
                await self._hand_over()  # messages to one person need data that came with theirs
                return
            try:
                row = await self._deliver(row)
            except Fenced:
                row = await self._next()
            except StoreError as error:
                logger.error("delivery to {} waits for the store: {}", self.address, error)
                await self._clock.sleep(STORE_RETRY_SECONDS)
                row = await self._next()

    async def _next(self) -> OutboundRow | None:
        taken = await self._parts.leases.take(self.address)
        if not taken.ours:
            self.elsewhere = taken.holder
        return taken.row

    @property
    def _helping(self) -> bool:
        return self._parts.leases.helping

    async def _hand_over(self) -> None:
        await self._parts.leases.give(self.address)
        self.elsewhere = ""

    # One message

    async def _deliver(self, row: OutboundRow) -> OutboundRow | None:
        """Continue the delivery of one message. Returns the chat's next one."""
        step = await self._taken_up(row)
        while isinstance(step, Work):
            move = next_move(step.row, step.parts, step.memory)
            step = await self._make(move, step)
        return step.row

    async def _taken_up(self, row: OutboundRow) -> DeliveryStep:
        wait = row.not_before - self._clock.now()
        if wait > 0 and self._waited_for != row.id:
            await self._clock.sleep(min(wait, _LONGEST_INHERITED_WAIT))
        await self._parts.release_preview(row.message.key)
        departure, self._departure = self._departure, None
        if departure is not None and (row is departure.row or departure.is_unsent(row)):
            row = msgspec.structs.replace(row, parts=())  # as if this process had just rendered it
            return Work(row, departure.parts, Memory(begun=0))
        if row.preview is not None:
            following = await self._next()
            if following is None or following.preview is None:
                return Left(following)
            return Work(following, (), Memory())
        if row.message.replaces:
            earlier = await self._journal.outbound(row.message.replaces)
            whole = earlier is not None and len(earlier.parts) == 1
            replaced = earlier.parts[0].receipt if earlier and whole else None
            repeated = earlier is not None and earlier.duplicate_sends > 0
            return Work(row, (), Memory(replaced=replaced, repeated=repeated))
        in_doubt = next((part for part in row.parts if part.state == "sending"), None)
        if in_doubt is not None and await self._parts.leases.waited_for(in_doubt):
            return Left(await self._next())
        return Work(row, tuple(part.part for part in row.parts), Memory())

    async def _make(self, move: Move, work: Work) -> DeliveryStep:
        match move:
            case Render():
                step: DeliveryStep = await self._render(work, move)
            case Reform():
                step = await self._reform(work, move)
            case Send() | Edit():
                step = await self._place(work, move)
            case LookUp():
                step = await self._look_up(work, move.idx)
            case Repeat():
                step = await self._repeat(work, move)
            case Keep():
                step = await self._keep(work, move.idx, move.receipt)
            case Wait():
                step = await self._wait(work, move)
            case _:
                step = await self._leave(work, move)
        return step

    async def _render(self, work: Work, move: Render) -> Work:
        row, ahead = work.row, list[OutboundPart]()
        whole = bool(row.message.replaces)
        if row.preview is not None or whole:
            row = standing(row, move.standing)
        if move.repeat and await self._shows_mark(row.message):
            row = msgspec.structs.replace(row, message=marked(row.message))
        elif move.repeat and not whole:
            line = self._sender.line(row.message.address, REPEAT_LINE, f"{row.message.key}:r")
            ahead = [await line]
        parts = (*ahead, *await self._sender.render(row.message))
        kept = parts[:1] if whole else parts
        await self._journal.begin_send(row, kept, 0, duplicate=move.repeat and not whole)
        return Work(row, parts, work.memory).with_memory(begun=0)

    async def _shows_mark(self, message: OutboundMessage) -> bool:
        """Whether the message has room at its end for the line that says it may be a repeat."""
        if message.replaces:  # the mark stays
            return len(await self._sender.render(marked(message))) == 1
        return not perhaps_several(message, self._can)

    async def _place(self, work: Work, move: Send | Edit) -> DeliveryStep:
        """Send one part, or replace the message in the chat with it."""
        row, parts = work.row, work.parts
        idx, edit = (0, True) if isinstance(move, Edit) else (move.idx, False)
        if isinstance(move, Send) and move.anew is not None:
            logger.warning("{}: {} is sent again", self.address, row.message.key)
            await self._sender.discard(row.message.address, move.anew)
            row = standing(row, None)
            await self._journal.begin_send(row, parts, 0, duplicate=False)
        elif move.begin:
            await self._journal.begin_send(row, (), idx, duplicate=False)
            row = standing(row, row.standing) if isinstance(move, Edit) else row
        work = Work(row, parts, work.memory).with_memory(begun=idx)
        try:
            if isinstance(move, Edit):
                receipt = await self._sender.replace(row.message.address, move.standing, parts[0])
            else:
                await self._clear()
                receipt = await self._sender.send_of(row.message, parts[idx])
        except DeliveryError as error:
            return await self._failed(work, idx, error, edit=edit)
        self._failures, self._recovered = 0, False
        self._parts.outage.succeeded()
        return await self._keep(work, idx, receipt)

    async def _keep(self, work: Work, idx: int, receipt: str) -> DeliveryStep:
        """Record the receipt of a part; the next one is about to be sent."""
        row, following = work.row, idx + 1
        if following == len(work.parts) or row.message.replaces:
            return Left(await self._receipt(row, idx, receipt, None))
        await self._receipt(row, idx, receipt, following)
        return work.with_memory(begun=following, answer=None)

    async def _receipt(
        self, row: OutboundRow, idx: int, receipt: str, begin: int | None
    ) -> OutboundRow | None:
        return await self._stored(lambda: self._journal.receipt(row, idx, receipt, begin=begin))

    async def _reform(self, work: Work, move: Reform) -> Work:
        row, idx = work.row, move.idx
        logger.info("{}: {} continues in an older format ({})", self, row.message.key, move.refused)
        parts = await self._older(row, work.parts, idx, move.refused)
        if not parts:
            failure = Failure(idx=idx, error=Refused(str(move.refused)))
            return Work(row, work.parts, msgspec.structs.replace(work.memory, failure=failure))
        if not row.message.replaces or len(parts) == 1:
            row = msgspec.structs.replace(
                row, attempts=row.attempts + 1, parts=row.parts[: max(idx, 1)]
            )
            await self._journal.begin_send(row, parts, idx, duplicate=False)
        return Work(row, parts, work.memory).with_memory(begun=idx)

    async def _older(
        self, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, error: FormRefused
    ) -> tuple[OutboundPart, ...]:
        """The message in a format that the chat accepts, after it refused part `idx`. Earlier parts
        stay unchanged. Empty if there is no other format."""
        if idx == 0 and not (row.duplicate_sends and error.instead):  # the mark stays
            rendered = await self._sender.render(row.message)
            if [part.payload for part in rendered] != [part.payload for part in parts]:
                return tuple(rendered)
        part = parts[idx]
        older = [
            msgspec.structs.replace(piece, key=f"{part.key}.{number}")
            for number, piece in enumerate(error.instead)
        ]
        forms = [(piece.payload, piece.file, piece.others) for piece in (*older[:1], part)]
        if not older or forms[0] == forms[1]:
            return ()
        return (*parts[:idx], *older, *parts[idx + 1 :])

    async def _clear(self) -> None:
        if not self._can.reconciles:
            await self._parts.outage.clear(self.address.chat_id)

    # Failures

    async def _failed(
        self, work: Work, idx: int, error: DeliveryError, *, edit: bool = False
    ) -> Work:
        failure = Failure(
            idx=idx,
            error=error,
            edit=edit,
            moved=isinstance(error, ChatMoved) and await self._has_moved(error),
            too_old=not self._can.waits
            and self._parts.ages.of(work.row.created_at) > MAX_AGE_SECONDS,
        )
        memory = msgspec.structs.replace(
            work.memory, failure=failure, failures=self._failures, recovered=self._recovered
        )
        return Work(work.row, work.parts, memory)

    async def _leave(self, work: Work, move: Bury | Follow | Park) -> Left:
        row = work.row
        match move:
            case Bury(scope, why):
                dead = await self._stored(lambda: self._journal.bury(row, why, scope=scope))
                logger.error("{}: {} message(s) undeliverable: {}", row.message.address, dead, why)
            case Follow(idx, why):
                await self._stored(lambda: self._journal.defer(row, idx, 0.0, why))
            case Park(idx, error):
                await self._stored(lambda: self._journal.defer(row, idx, 0.0, str(error)))
                raise error
        return Left(await self._next())

    async def _wait(self, work: Work, move: Wait) -> Left:
        row, idx = work.row, move.idx
        self._failures += 1
        if move.doubtful:
            delay = self._parts.doubtful_backoff.delay(move.tries)
            self._parts.outage.doubted(self.address.chat_id)
            logger.warning("{}: it is unknown whether part {} arrived ({})", self, idx, move.why)
        else:
            backoff = self._parts.backoff.delay(move.tries)
            delay = backoff if move.requested is None else move.requested
            logger.warning("{}: not sent ({}), retry in {:.1f} s at most", self, move.why, delay)
            again = self._clock.now() + delay
            await self._stored(lambda: self._journal.defer(row, idx, again, move.why))
            if self._helping and move.requested is None:
                self._parts.leases.rest()
                await self._hand_over()
                return Left(None)
        # By the monotonic clock, so setting the wall clock changes nothing.
        if move.requested is None and not self._recovered:
            harmless = self._can.reconciles or not move.doubtful
            await self._wait_with_others(delay, harmless=harmless)
        else:
            await self._clock.sleep(delay)
        self._waited_for = row.id
        return Left(await self._next())

    async def _wait_with_others(self, seconds: float, *, harmless: bool) -> None:
        """Wait for the end of an outage. A later failure concerns only this chat, and success in
        other chats says nothing about it."""
        if await self._parts.outage.wait(self.address.chat_id, seconds, harmless=harmless):
            self._recovered, self._failures = True, 0

    async def _has_moved(self, error: ChatMoved) -> bool:
        """Whether the chat's new id was not known before; its messages are then sent there."""
        moved = self._parts.moved
        old = moved.there(self.address).chat_id
        if await self._stored(lambda: moved.moved(old, error.chat_id)):
            return True
        await moved.load()  # another process may know it
        return moved.there(self.address).chat_id != old

    # Doubt

    async def _look_up(self, work: Work, idx: int) -> Work:
        """The reply of a send, or the process, was lost: look the part up on the platform if
        possible."""
        try:
            answer = Answer(await self._look_ups.receipt(work.row, idx))
        except Uncertain as uncertain:
            logger.warning("{}: part {} may be a repeat ({})", self, idx, uncertain)
            answer = Answer(unknown=str(uncertain) or "nobody can tell")
        except DeliveryError as error:
            return await self._failed(work, idx, error)
        return work.with_memory(answer=answer)

    async def _repeat(self, work: Work, move: Repeat) -> Work:
        """Record that a part may be a repeat, and mark it so."""
        row, idx = work.row, move.idx
        await self._journal.begin_send(row, (), idx, duplicate=True)
        row = msgspec.structs.replace(row, duplicate_sends=row.duplicate_sends + 1)
        work = Work(row, work.parts, work.memory).with_memory(begun=idx)
        try:
            part = await self._marked(row.message, work.parts, idx)
        except DeliveryError as error:
            refused = Refused(str(error)) if isinstance(error, FormRefused) else error
            return await self._failed(work, idx, refused)
        return msgspec.structs.replace(
            work, parts=(*work.parts[:idx], part, *work.parts[idx + 1 :])
        )

    async def _marked(
        self, message: OutboundMessage, parts: Sequence[OutboundPart], idx: int
    ) -> OutboundPart:
        """The part with a last line that says it may be a repeat. If the line does not fit, or the
        part may be several messages on the platform, the line is sent before it as a message."""
        alone = len(parts) == 1 and parts[0].file is None
        if alone and not perhaps_several(message, self._can):
            rendered = await self._sender.render(marked(message))
            if len(rendered) == 1:
                return msgspec.structs.replace(rendered[0], key=parts[idx].key)
        line = await self._sender.line(message.address, REPEAT_LINE, f"{parts[idx].key}:r")
        await self._sender.send_of(message, line)
        return parts[idx]

    async def _stored(self, write: Callable[[], Awaitable[T]]) -> T:
        """Repeat until stored: only this process knows the result of the send, and without its row
        the message would have to be repeated."""
        return await until_stored(write, self._clock, f"delivery to {self.address}")

    def __str__(self) -> str:
        return str(self.address)
