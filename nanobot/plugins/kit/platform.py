"""A chat platform in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from nanobot.errors import Refused
from nanobot.messages import Address, Attachment, InboundMessage, Origin, OutboundMessage, Sender
from nanobot.plugins.kit.machine import PATIENCE
from nanobot.plugins.kit.message_numbers import MessageNumbers
from nanobot.ports import Capabilities, Intake, MenuCommand, OutboundPart, Reaction

OWNER, MEMBER = "1001", "1002"
"""The owner in a `gateway()`, unless its Options say otherwise."""


class ArrivedMessage(msgspec.Struct, frozen=True):
    """A message that arrived on the FakeChannel's platform."""

    address: Address
    text: str
    key: str
    plain: bool
    id: str


class SendFailure(msgspec.Struct, frozen=True):
    """The error of a send. `applied`: the message arrives nevertheless."""

    error: Exception
    applied: bool = False


class FakeChannel:
    """A chat platform in memory; see ports.Channel.

    `push` is a person who writes, `pop` a person who reads. Texts longer than `limit` become
    several parts. For each chat, `failures` lists the errors of its next sends (None: success).
    `lookups` lists the outcomes of the next calls of `find`, and `downs` those of the next calls of
    `run`. `lookups_made` lists the look-ups, with their start times.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        limit: int = 4_000,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.sent: list[ArrivedMessage] = []
        self.typed: list[Address] = []
        self.downs: deque[Exception] = deque()
        self.failures: dict[str, deque[SendFailure | None]] = {}
        self.attempts: list[tuple[Address, OutboundPart]] = []
        self.lookups: deque[Exception] = deque()
        self.lookups_made: list[tuple[str, float]] = []
        self.runs = 0
        self.closed = False
        self._limit = limit
        self._numbers = MessageNumbers()
        self._unread: list[ArrivedMessage] = []
        self._changed = asyncio.Event()
        self._intake: Intake | None = None

    def numbered_by(self, numbers: MessageNumbers) -> None:
        """Give further messages these numbers, which other channels of the platform share."""
        numbers.last = max(numbers.last, self._numbers.last)
        self._numbers = numbers

    async def run(self, intake: Intake) -> None:
        """Connected at once, unless `downs` says how this run ends."""
        self.runs += 1
        self._change()
        if self.downs:
            raise self.downs.popleft()
        self._intake = intake
        intake.alive()
        self._change()
        await asyncio.Event().wait()

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """Pieces of at most `limit` characters; choices are written out."""
        text = message.text if message.text.strip() else "(empty)"
        text += "".join(f"\n{choice.label}: {choice.say}" for choice in message.choices)
        pieces = [text[at : at + self._limit] for at in range(0, len(text), self._limit)]
        return [OutboundPart(text=piece, payload=piece.encode()) for piece in pieces]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Arrive, or fail as configured."""
        self.attempts.append((address, part))
        self._change()
        await asyncio.sleep(0)
        failing = self.failures.get(address.chat_id)
        failure = failing.popleft() if failing else None
        if failure is not None and not failure.applied:
            raise failure.error
        text = part.text if plain or not part.payload else part.payload.decode()
        arrived = ArrivedMessage(address, text, part.key, plain, f"m{self._numbers.next()}")
        self.sent.append(arrived)
        self._unread.append(arrived)
        self._change()
        if failure is not None:
            raise failure.error
        return arrived.id

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The platform knows what arrived, unless `lookups` says how the look-up fails."""
        self.lookups_made.append((part.key, since))
        self._change()
        if self.lookups:
            raise self.lookups.popleft()
        return next((message.id for message in self.sent if message.key == part.key), None)

    async def typing(self, address: Address) -> None:
        self.typed.append(address)
        self._change()

    async def close(self) -> None:
        self.closed = True

    def fail(self, *errors: Exception, chat: str = "1", applied: bool = False) -> None:
        """The next sends to a chat fail with these errors, one after another."""
        failing = self.failures.setdefault(chat, deque())
        failing.extend(SendFailure(error, applied) for error in errors)

    async def push(
        self,
        text: str,
        *,
        chat: str = "1",
        sender: str = OWNER,
        key: str = "",
        origin: Origin = Origin.USER,
        attachments: tuple[Attachment, ...] = (),
        **fields: Any,
    ) -> InboundMessage:
        """A person writes; returns once the message is admitted. The same `key` is the same
        message; `fields` are further fields of an InboundMessage.
        """
        await self.until(lambda: self._intake is not None)
        identity = key or f"u{self._numbers.next()}"
        message = InboundMessage(
            address=Address(self.name, chat),
            message_id=identity,
            dedupe_key=identity,
            sender=Sender(sender, f"name of {sender}"),
            text=text,
            origin=origin,
            attachments=attachments,
            **{"sent_at": 1_800_000_000.0, **fields},
        )
        if self._intake is not None:
            await self._intake.admit([message], cursor=identity)
        return message

    async def pop(self, chat: str = "") -> ArrivedMessage:
        """The next message that arrived (in a chat), waiting for it."""
        await self.until(lambda: any(chat in ("", m.address.chat_id) for m in self._unread))
        message = next(m for m in self._unread if chat in ("", m.address.chat_id))
        self._unread.remove(message)
        return message

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked whenever something happens here."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            texts = [f"{m.address.chat_id}: {m.text[:80]}" for m in self.sent]
            raise AssertionError(f"this did not come about; sent so far: {texts}") from None

    def _change(self) -> None:
        self._changed.set()


class ArrivedFile(msgspec.Struct, frozen=True):
    """A file that arrived on a FakePlatform."""

    address: Address
    file: Attachment
    caption: str
    content: bytes
    id: str


class FakePlatform(FakeChannel):
    """A FakeChannel with all optional capabilities: see ports.Editing, Deleting, Filing, Reacting
    and Commanding. `sent` has the edited texts, and `edits` lists the edits. `edit_failures` are
    the outcomes of the next edits, `delete_failures` those of the next deletions. Previews look at
    the clock while a model is held: in that case give the gateway a home with
    `ManualClock(instant=False)`.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        limit: int = 4_000,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(name, limit=limit, capabilities=capabilities)
        self.edits: list[ArrivedMessage] = []
        self.edit_failures: deque[Exception] = deque()
        self.delete_failures: deque[Exception] = deque()
        self.files: list[ArrivedFile] = []
        self.marks: list[tuple[str, Reaction]] = []
        self.menus: list[tuple[MenuCommand, ...]] = []

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Change the text, or fail as configured. Refused for a message that does not exist."""
        await asyncio.sleep(0)
        self._change()
        if self.edit_failures:
            raise self.edit_failures.popleft()
        place = next((n for n, message in enumerate(self.sent) if message.id == message_id), None)
        if place is None:
            raise Refused("message to edit not found")
        text = part.text if plain or not part.payload else part.payload.decode()
        now = msgspec.structs.replace(self.sent[place], text=text, plain=plain)
        self.sent[place] = now
        self.edits.append(now)
        self._unread = [now if m.id == message_id else m for m in self._unread]

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete the message, or fail as configured. Refused for a message that does not exist."""
        self._change()
        if self.delete_failures:
            raise self.delete_failures.popleft()
        if not any(message.id == message_id for message in self.sent):
            raise Refused("message to delete not found")
        self.sent = [message for message in self.sent if message.id != message_id]
        self._unread = [message for message in self._unread if message.id != message_id]

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Arrive in `files`, or fail as `send` does."""
        receipt = await self.send(address, part)
        self.files.append(
            ArrivedFile(address, part.file or Attachment(""), part.text, content, receipt)
        )
        return receipt

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        self.marks.append((message_id, mark))
        self._change()

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        self.menus.append(tuple(commands))
        self._change()
