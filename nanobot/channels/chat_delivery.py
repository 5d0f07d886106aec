"""The delivery to one chat: its messages in order, each send recorded before and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from loguru import logger

from nanobot.channels.delivery_parts import DeliveryParts
from nanobot.channels.repeats import REPEAT_LINE, marked, perhaps_several
from nanobot.errors import (
    ChatGone,
    ChatMoved,
    DeliveryError,
    Fenced,
    FormRefused,
    NobodyThere,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreError,
    ThreadGone,
    Uncertain,
)
from nanobot.messages import Address, OutboundMessage
from nanobot.ports import Confiding, OutboundPart
from nanobot.session.outbox import BuryScope, OutboundRow, PartRow
from nanobot.system import STORE_RETRY_SECONDS, until_stored

MAX_AGE_SECONDS = 24 * 3600.0
"""An unsent message dies of age, never of a number of attempts: an outage is not its fault."""
LOOKUPS = 10
LOOKUP_SECONDS = 120.0
"""So often and so long a part in doubt is looked up where that fails; then it is repeated with a
line that says so."""

# What a process that ended was told to wait is by a clock that may have been set since.
_LONGEST_INHERITED_WAIT = 60.0
_FINAL: tuple[tuple[type[DeliveryError], BuryScope], ...] = (
    (Refused, "message"),
    (ThreadGone, "thread"),
    (ChatGone, "chat"),
    (ChatMoved, "chat"),  # to where it was before
)

T = TypeVar("T")


class ChatDelivery:
    """What one chat is owed, as long as it is owed anything."""

    def __init__(self, address: Address, parts: DeliveryParts) -> None:
        self.address = address
        self._sender = parts.sender
        self._journal = parts.journal
        self._clock = parts.clock
        self._parts = parts
        self._can = parts.sender.channel.capabilities
        self._confiding = isinstance(parts.sender.channel, Confiding)
        self._waited_for = 0
        self._lookups = 0
        self._first_lookup = 0.0
        self._failures = 0
        self._recovered = False
        self.elsewhere: str | None = None
        """Set when another process is to speak to the chat: which ("": the one that receives)."""

    async def drain(self) -> None:
        """Send what is owed, oldest first, until nothing is or another process speaks to the chat.
        Raises NobodyThere when it has to wait for somebody to attach."""
        row = await self._next()
        while row is not None:
            if self._helping and row.message.only_for and self._confiding:
                await self._hand_over()  # what it takes to tell one person came with their message
                return
            try:
                row = await self._send(row)
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

    async def _send(self, row: OutboundRow) -> OutboundRow | None:
        """One message from where its delivery stands. Returns the next one of the chat."""
        wait = row.not_before - self._clock.now()
        if wait > 0 and self._waited_for != row.id:
            await self._clock.sleep(min(wait, _LONGEST_INHERITED_WAIT))
        await self._parts.release_preview(row.message.key)
        if row.preview is not None:
            following = await self._next()
            if following is None or following.preview is None:
                return following
            return await self._replace_preview(following)
        if row.message.replaces:
            return await self._replace_earlier(row)
        in_doubt = next((part for part in row.parts if part.state == "sending"), None)
        if in_doubt is not None:
            if self._parts.shared and await self._parts.shared.waited_for(in_doubt):
                return await self._next()
            return await self._reconcile(row, in_doubt.idx)
        parts = [part.part for part in row.parts]
        rendered = [] if parts else await self._sender.render(row.message)
        sent = sum(part.state == "sent" for part in row.parts)
        await self._journal.begin_send(row, rendered, sent, duplicate=False)
        return await self._send_parts(row, parts or rendered, sent)

    async def _replace_preview(self, row: OutboundRow) -> OutboundRow | None:
        """A preview of this message was shown: the message takes its place. Where it is unknown
        whether the preview arrived, it is looked up, or the message says that it may be a repeat:
        at its end, or ahead of it if it is perhaps too long to be one message."""
        message, duplicate, ahead = row.message, False, list[OutboundPart]()
        if row.standing is None:
            try:
                row = _standing(row, await self._look_up(row, 0))
            except Uncertain as uncertain:
                logger.warning("{}: {} may be a repeat ({})", self, message.key, uncertain)
                duplicate = True
                if perhaps_several(message, self._can):
                    ahead = [OutboundPart(text=REPEAT_LINE, key=f"{message.key}:r")]
                else:
                    message = marked(message)
                    row = msgspec.structs.replace(row, message=message)
            except DeliveryError as error:
                return await self._trouble(row, 0, error)
        parts = [*ahead, *await self._sender.render(message)]
        await self._journal.begin_send(row, parts, 0, duplicate=duplicate)
        return await self._send_parts(_standing(row, row.standing), parts, 0)

    async def _replace_earlier(self, row: OutboundRow) -> OutboundRow | None:
        """Put a message in the place of an earlier one, which was settled before it: both in one
        piece, or not at all."""
        earlier = await self._journal.outbound(row.message.replaces)
        parts = await self._sender.render(row.message)
        if earlier and earlier.duplicate_sends:  # what is marked stays so
            again = marked(row.message)
            if len(rendered := await self._sender.render(again)) == 1:
                row, parts = msgspec.structs.replace(row, message=again), rendered
        stands = earlier.parts[0].receipt if earlier and len(earlier.parts) == 1 else None
        await self._journal.begin_send(_standing(row, stands), parts[:1], 0, duplicate=False)
        if stands is None or len(parts) != 1:
            return await self._receipt(row, 0, "", None)
        return await self._send_parts(_standing(row, stands), parts, 0)

    async def _send_parts(
        self, row: OutboundRow, parts: list[OutboundPart], first: int
    ) -> OutboundRow | None:
        """Send the parts from `first` on, whose beginning is recorded already."""
        idx = first
        while idx < len(parts):
            try:
                receipt = await self._send_part(row, parts, idx)
            except FormRefused as error:
                parts = await self._older(row, parts, idx, error)
                if not parts:
                    return await self._trouble(row, idx, Refused(str(error)))
                if row.message.replaces and len(parts) != 1:
                    return await self._receipt(row, 0, row.standing or "", None)
                row = msgspec.structs.replace(
                    row, attempts=row.attempts + 1, parts=row.parts[: max(idx, 1)]
                )
                await self._journal.begin_send(row, parts, idx, duplicate=False)
                continue
            except DeliveryError as error:
                return await self._trouble(row, idx, error)
            idx += 1
            following = idx if idx < len(parts) else None
            after = await self._receipt(row, idx - 1, receipt, following)
            if following is None:
                return after
        return await self._next()

    async def _older(
        self, row: OutboundRow, parts: list[OutboundPart], idx: int, error: FormRefused
    ) -> list[OutboundPart]:
        """The message in the form that its chat takes, where it did not take part `idx`: those
        before it stand there as they are. Empty if there is no other form."""
        logger.info("{}: {} goes on in an older form ({})", self, row.message.key, error)
        if idx == 0 and not (row.duplicate_sends and error.instead):  # what is marked stays so
            rendered = await self._sender.render(row.message)
            if [part.payload for part in rendered] != [part.payload for part in parts]:
                return rendered
        part = parts[idx]
        older = [
            msgspec.structs.replace(piece, key=f"{part.key}.{number}")
            for number, piece in enumerate(error.instead)
        ]
        if not older or (older[0].payload, older[0].others) == (part.payload, part.others):
            return []
        return [*parts[:idx], *older, *parts[idx + 1 :]]

    async def _send_part(self, row: OutboundRow, parts: list[OutboundPart], idx: int) -> str:
        receipt = await self._placed(row, parts, idx)
        self._failures, self._recovered = 0, False
        self._parts.outage.succeeded()
        return receipt

    async def _placed(self, row: OutboundRow, parts: list[OutboundPart], idx: int) -> str:
        """Send one part, or put it in the place of what stands there."""
        if idx == 0 and row.standing is not None:
            try:
                return await self._sender.replace(row.message.address, row.standing, parts[0])
            except FormRefused:
                raise
            except Refused as refused:
                if row.message.replaces:
                    return row.standing
                logger.warning("{}: {} is sent anew ({})", self.address, row.message.key, refused)
                await self._sender.discard(row.message.address, row.standing)
                await self._journal.begin_send(_standing(row, None), parts, 0, duplicate=False)
        await self._clear()
        return await self._sender.send_of(row.message, parts[idx])

    async def _clear(self) -> None:
        if not self._can.reconciles:
            await self._parts.outage.clear(self.address.chat_id)

    # What did not work

    async def _trouble(
        self, row: OutboundRow, idx: int, error: DeliveryError
    ) -> OutboundRow | None:
        """What becomes of a message whose part `idx` could not be sent, or looked up."""
        if isinstance(error, NobodyThere):
            await self._stored(lambda: self._journal.defer(row, idx, 0.0, str(error)))
            raise error
        if isinstance(error, ChatMoved) and await self._has_moved(error):
            await self._stored(lambda: self._journal.defer(row, idx, 0.0, str(error)))
            return await self._next()
        scope = next((scope for kind, scope in _FINAL if isinstance(error, kind)), None)
        if scope is None and self._too_old(row):
            scope, error = "message", Refused(f"not delivered within 24 hours: {error}")
        if scope is not None:
            return await self._bury(row, scope, str(error))
        self._failures += 1
        requested = error.retry_after if isinstance(error, NotSent) else None
        if isinstance(error, OutcomeUnknown):
            failures = self._failures if self._recovered else row.duplicate_sends + 1
            delay = self._parts.doubtful_backoff.delay(failures)
            self._parts.outage.doubted(self.address.chat_id)
            logger.warning("{}: it is unknown whether part {} arrived ({})", self, idx, error)
        else:
            delay = self._parts.backoff.delay(self._failures) if requested is None else requested
            logger.warning("{}: not sent ({}), again in {:.1f} s at most", self, error, delay)
            again = self._clock.now() + delay
            await self._stored(lambda: self._journal.defer(row, idx, again, str(error)))
            if self._helping and requested is None:
                self._parts.leases.rest()
                await self._hand_over()
                return None
        # By the monotonic clock: whoever sets the other one changes nothing about it.
        if requested is None and not self._recovered:
            harmless = isinstance(error, NotSent) or self._can.reconciles
            await self._wait_with_others(delay, harmless=harmless)
        else:
            await self._clock.sleep(delay)
        self._waited_for = row.id
        return await self._next()

    async def _wait_with_others(self, seconds: float, *, harmless: bool) -> None:
        """Wait for the end of an outage. What fails after that is this chat's own trouble, about
        which the success of others says nothing any more."""
        if await self._parts.outage.wait(self.address.chat_id, seconds, harmless=harmless):
            self._recovered, self._failures = True, 0

    def _too_old(self, row: OutboundRow) -> bool:
        return not self._can.waits and self._parts.ages.of(row.created_at) > MAX_AGE_SECONDS

    async def _has_moved(self, error: ChatMoved) -> bool:
        """Whether the chat is somewhere that was not known; what it is owed is sent there then."""
        moved = self._parts.moved
        old = moved.there(self.address).chat_id
        if await self._stored(lambda: moved.moved(old, error.chat_id)):
            return True
        await moved.load()  # another process may have been told
        return moved.there(self.address).chat_id != old

    async def _bury(self, row: OutboundRow, scope: BuryScope, error: str) -> OutboundRow | None:
        dead = await self._stored(lambda: self._journal.bury(row, error, scope=scope))
        logger.error("{}: {} message(s) undeliverable: {}", row.message.address, dead, error)
        return await self._next()

    # What is in doubt

    async def _reconcile(self, row: OutboundRow, idx: int) -> OutboundRow | None:
        """A part was about to be sent when the answer, or this process, was lost. Ask the platform
        where it can tell; else send again, saying so."""
        parts = [part.part for part in row.parts]
        if idx == 0 and row.standing is not None:  # an edit may be done again
            await self._journal.begin_send(row, (), idx, duplicate=False)
            return await self._send_parts(_standing(row, row.standing), parts, idx)
        try:
            receipt = await self._look_up(row, idx)
        except Uncertain as uncertain:
            logger.warning("{}: part {} may be a repeat ({})", self, idx, uncertain)
            return await self._repeat(row, parts, idx)
        except DeliveryError as error:
            return await self._trouble(row, idx, error)
        if receipt is not None:
            following = idx + 1 if idx + 1 < len(parts) else None
            after = await self._receipt(row, idx, receipt, following)
            return after if following is None else await self._send_parts(row, parts, following)
        if row.duplicate_sends:  # what may have been sent with the line looks different
            return await self._repeat(row, parts, idx)
        await self._journal.begin_send(row, (), idx, duplicate=False)
        return await self._send_parts(row, parts, idx)

    async def _look_up(self, row: OutboundRow, idx: int) -> str | None:
        """The message id of a part in doubt, None if it was not applied. Raises Uncertain when
        nobody can tell, NotSent when it is to be asked again, or why the chat is refused."""
        confided = row.message.only_for and self._confiding
        if not self._can.reconciles or confided:  # no history shows what one person was told
            await self._clear()
            raise Uncertain("the platform cannot be asked")
        part = row.parts[idx]
        try:
            receipt = await self._sender.find(row.message.address, part.part, part.began_at)
        except Refused as error:
            raise Uncertain(str(error)) from error
        except (NotSent, OutcomeUnknown) as error:
            if not self._lookups:
                self._first_lookup = self._clock.monotonic()
            self._lookups += 1
            lasted = self._clock.monotonic() - self._first_lookup
            if self._lookups >= LOOKUPS and lasted >= LOOKUP_SECONDS:
                self._lookups = 0
                raise Uncertain(str(error)) from error
            requested = error.retry_after if isinstance(error, NotSent) else None
            raise NotSent(f"it cannot be looked up: {error}", requested) from error
        self._lookups = 0
        return receipt

    async def _repeat(
        self, row: OutboundRow, parts: list[OutboundPart], idx: int
    ) -> OutboundRow | None:
        """Send a part that may have arrived, saying so."""
        await self._journal.begin_send(row, (), idx, duplicate=True)
        row = msgspec.structs.replace(row, duplicate_sends=row.duplicate_sends + 1)
        try:
            parts[idx] = await self._marked(row.message, parts, idx)
        except DeliveryError as error:
            return await self._trouble(row, idx, error)
        return await self._send_parts(row, parts, idx)

    async def _marked(
        self, message: OutboundMessage, parts: list[OutboundPart], idx: int
    ) -> OutboundPart:
        """The part with a last line that says it may be a repeat; where that line does not fit in,
        or the part is perhaps several messages there, it is sent ahead on its own."""
        alone = len(parts) == 1 and parts[0].file is None
        if alone and not perhaps_several(message, self._can):
            rendered = await self._sender.render(marked(message))
            if len(rendered) == 1:
                return msgspec.structs.replace(rendered[0], key=parts[idx].key)
        line = OutboundPart(text=REPEAT_LINE, key=f"{parts[idx].key}:r")
        await self._sender.send_of(message, line)
        return parts[idx]

    async def _receipt(
        self, row: OutboundRow, idx: int, receipt: str, begin: int | None
    ) -> OutboundRow | None:
        return await self._stored(lambda: self._journal.receipt(row, idx, receipt, begin=begin))

    async def _stored(self, write: Callable[[], Awaitable[T]]) -> T:
        """What came of a send is known to this process alone: without its row the message would
        have to be repeated."""
        return await until_stored(write, self._clock, f"delivery to {self.address}")

    def __str__(self) -> str:
        return str(self.address)


def _standing(row: OutboundRow, receipt: str | None) -> OutboundRow:
    """The row as it is once its first part is being put in the place of that message."""
    first = PartRow(idx=0, part=OutboundPart(text=""), state="pending", receipt=receipt)
    return msgspec.structs.replace(row, parts=(first,))
