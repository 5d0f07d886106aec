"""The intake of one channel: turns deliveries of a platform into messages that the
journal admits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.bus.gate import Gate
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.reception import Reception
from nanobot.errors import NanobotError
from nanobot.messages import (
    Address,
    Attachment,
    InboundMessage,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
    SessionPolicy,
    session_key,
)
from nanobot.ports import CatchUp, History
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.said import Said, Waiting
from nanobot.text import MAX_TEXT, without_controls
from nanobot.visible import blank

_MOST_FAILURES = 3


class Host(Protocol):
    """Is told when the platform responds, and of each message that is in the journal. `moved`: the
    chats' current ids. `commands`: waits for those of its chats."""

    moved: MovedChats
    commands: Waiting

    def alive(self) -> None:
        """The platform responded."""

    def admitted(self, message: InboundMessage, outcome: Admitted, role: Role) -> None:
        """A message is in the journal, now or already before; its sender has that role."""

    def admitting(self, admission: Admission) -> Admission:
        """A message or order before it is stored, as companions change it."""

    def confides(self, address: Address, person: str) -> bool:
        """Whether a person in that chat can get messages that no one else sees."""

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """Whether a message was sent after one of ours; see ports.Ordering."""


class ChannelIntake:
    """See ports.Intake. Without a host, no one is told of messages, and chats do not move."""

    def __init__(
        self,
        name: str,
        gate: Gate,
        bus: Bus,
        reception: Reception,
        policy: SessionPolicy,
        host: Host | None = None,
    ) -> None:
        self._name = name
        self._gate = gate
        self._bus = bus
        self.reception = reception
        self._policy: SessionPolicy = "thread" if gate.threads and policy == "chat" else policy
        self._host = host
        self._moved = None if host is None else host.moved
        self._failed = Counter[str]()
        self._taking, self._taken = 0, asyncio.Event()

    def alive(self) -> None:
        if self._host is not None:
            self._host.alive()

    async def account(self, identity: str) -> None:
        await self._bus.journal.account(self._name, identity)

    async def cursor(self) -> str | None:
        return await self._bus.journal.cursor(self._name)

    async def chats(self) -> list[Address]:
        chats = await self.reception.chats(self._name)
        return chats if self._moved is None else [self._moved.there(chat) for chat in chats]

    def in_order(self, history: History) -> CatchUp:
        return self.reception.in_order(self, history)

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        if self._moved is not None:
            await self._moved.moved(old_chat_id, new_chat_id)

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        await self.take(messages, cursor)

    async def rest(self, seconds: float) -> None:
        """Return between two deliveries, or after so many seconds. Cancelled within one, commands
        that are performed already would be brought again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._taking:
                    self._taken.clear()
                    await self._taken.wait()

    async def take(
        self, messages: Sequence[InboundMessage], cursor: str | None = None, session: str = ""
    ) -> list[Admitted]:
        """As `admit`, optionally into a session other than the address's. Messages that are not for
        the assistant are dropped unread, but the cursor moves past them."""
        self._taking += 1
        try:
            return await self._take(messages, cursor, session)
        finally:
            self._taking -= 1
            self._taken.set()

    async def _take(
        self, messages: Sequence[InboundMessage], cursor: str | None, session: str
    ) -> list[Admitted]:
        admitted, admissions, settled = list[Admitted](), list[Admission](), set[str | None]()
        for message in messages:
            if admissions and settled & {message.dedupe_key, message.edit_of}:
                # The same again, or an edit, is judged by what is stored of the first.
                admitted += await self._admit(admissions, None)
                admissions = []
            admission = await self._judged(message, session)
            if admission is not None:
                admissions.append(admission)
                settled |= set() if admission.for_run else {message.dedupe_key}
        if admissions or cursor is not None:
            admitted += await self._admit(admissions, cursor)
        return admitted

    async def _admit(self, admissions: list[Admission], cursor: str | None) -> list[Admitted]:
        admitted = await self._bus.admit(self._name, admissions, cursor)
        if self._host is not None:
            for admission, outcome in zip(admissions, admitted, strict=True):
                if not admission.message.deleted:
                    self._host.admitted(admission.message, outcome, admission.role)
        return admitted

    async def _judged(self, message: InboundMessage, session: str) -> Admission | None:
        """As `_admission`, for a message with any content. It is skipped if no store can hold it or
        after three failures, because the platform sends nothing else before."""
        admission: Admission | None = None
        refusal: NanobotError | None = None
        with boundary(f"a message in {message.address}") as caught:
            try:
                admission = await self._admission(message, session)
            except UnicodeError as error:
                self._skip(message, error)
            except NanobotError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        if caught.error is not None:
            self._failed[message.dedupe_key] += 1
            if self._failed[message.dedupe_key] < _MOST_FAILURES:
                raise caught.error
            del self._failed[message.dedupe_key]
            self._skip(message, caught.error)
        return admission

    @staticmethod
    def _skip(message: InboundMessage, why: Exception) -> None:
        where = without_controls(str(message.address))
        logger.error("{}: a message is skipped: {}", where, why)

    async def _admission(self, message: InboundMessage, session: str) -> Admission | None:
        sender = Sender(message.sender.id, without_controls(message.sender.name))
        if self._moved is not None:
            message = self._moved.message(message)
        cleaned = msgspec.structs.replace(
            message,
            text=without_controls(message.text),
            sender=sender,
            quote=without_controls(message.quote)[:MAX_TEXT],
            attachments=tuple(map(_named_cleanly, message.attachments)),
        )
        _check_ids(cleaned)
        address = cleaned.address
        if message.deleted:
            return Admission(message=cleaned, session_key=str(address), role=Role.GUEST)
        if message.reaction:
            await self._react(cleaned)
            return None
        settings_id = self._settings_id(address)
        heard = self._gate.groups.heard(
            msgspec.structs.replace(cleaned, address=Address(self._name, settings_id))
        )
        if heard is None or not (heard.addressed or self._orders(heard.text)):
            return None
        text = heard.text
        message = msgspec.structs.replace(heard, address=address, text=text[:MAX_TEXT])
        key = session or session_key(address, sender.id, self._policy)
        role = await self._entry(message, key)
        if not isinstance(role, Role):
            return role
        edits = message.edit_of is not None
        once = edits or self.reception.commands.knows(text)
        if once and await self._bus.journal.unchanged(message):
            known = Admission(message=message, session_key=key, role=role, performing=True)
            return None if edits else known
        return await self._settled(Said(message=message, session_key=key, role=role), text)

    async def _settled(self, said: Said, text: str) -> Admission:
        """A command, a decision, or a message that cannot be processed, with its answer; otherwise
        the message, waiting for an answer. `text`: its whole text."""
        message, key = said.message, said.session_key
        if problem := self._problem(text, message):
            return said.answered(problem, refused=True)
        ways = () if self._host is None else (self._host.is_after, self._host.commands)
        settled = await self.reception.commands.settled(said, *ways)
        admission = settled or Admission(message=message, session_key=key, role=said.role)
        if admission.for_run and self._bus.busy.mode == "interrupt":
            so_far = self.reception.partial(key)
            admission = msgspec.structs.replace(admission, said=so_far)
        return admission if self._host is None else self._host.admitting(admission)

    async def _react(self, message: InboundMessage) -> None:
        """Only the decision that a reaction makes is stored."""
        role = await self._role(message)
        if role is not None:
            await self.reception.commands.reacted(message, role)

    def _problem(self, text: str, message: InboundMessage) -> str:
        """Why the message cannot be processed, for its sender; empty if it can."""
        if len(text) > MAX_TEXT:
            return _too_long(len(text))
        if blank(text) and not message.attachments:
            return "Your message was empty: there is nothing to answer."
        commands = self.reception.commands
        return "" if commands.knows(text) else commands.unknown(text)

    def _orders(self, text: str) -> bool:
        """Whether it is one of our commands without a mention: members need not mention the
        assistant to stop it. `/stop@another_bot` is for another bot."""
        known = self.reception.commands.knows(text)
        return known and "@" not in text.split(maxsplit=1)[0]

    async def _role(self, message: InboundMessage) -> Role | None:
        channel, sender_id = message.address.channel, message.sender.id
        strangers, let_in = self._gate.strangers, None
        if strangers is not None and not self._gate.names(sender_id):
            let_in = await strangers.role(channel, sender_id)
        return self._gate.role(sender_id, self._settings_id(message.address), let_in)

    def _settings_id(self, address: Address) -> str:
        """The chat's id in the configuration: from before it moved, or its current one."""
        there = address if self._moved is None else self._moved.there(address)
        return there.chat_id if there.chat_id in self._gate.groups.chats else address.chat_id

    async def _entry(self, message: InboundMessage, key: str) -> Role | Admission | None:
        """The sender's role, or what to do with the message. In a group, others see no refusal, and
        guests cannot give commands without a mention."""
        role, person = await self._role(message), message.sender.id
        if role is not None and (message.addressed or role is not Role.GUEST):
            return role
        alone = self._host is not None and self._host.confides(message.address, person)
        if message.group and not (alone and message.addressed and role is None):
            logger.debug("{}: {} has no access here", message.address, message.sender.id)
            return None
        return await self._stranger(message, key)

    async def _stranger(self, message: InboundMessage, key: str) -> Admission | Role | None:
        """Settle a stranger's message unread, with instructions how to be let in. Returns a role if
        they were let in at this moment."""
        address, sender, strangers = message.address, message.sender, self._gate.strangers
        if strangers is not None:
            notice = await strangers.ask(address, sender)
            if isinstance(notice, Role):
                return notice
            answer, places = notice
            logger.info("{}: {} ({}) requests access", address, sender.id, sender.name)
            for chat in places:
                self._bus.owed(chat)
        else:
            answer = self._private(message)
            if self._gate.discreet:
                return None
        if message.group:
            # With a separate key: it is unknown whether they see it here.
            answer = msgspec.structs.replace(
                answer,
                key=f"{answer.key}:{address.chat_id}",
                only_for=sender.id,
                discreet=True,
                reply_to=message.message_id,
            )
        unread = msgspec.structs.replace(message, text="", attachments=(), quote="")
        return Admission(message=unread, session_key=key, role=Role.GUEST, answer=answer)

    def _private(self, message: InboundMessage) -> OutboundMessage:
        """The notice that a stranger gets once a day where they cannot ask."""
        address, sender = message.address, message.sender
        logger.warning(
            "{}: {} ({}) is not allowed to speak here; to let them in, add {!r} to "
            "channels.{}.owners or channels.{}.members",
            address,
            sender.id,
            sender.name,
            sender.id,
            self._name,
            self._name,
        )
        day = int(self.reception.now() // 86_400)
        return OutboundMessage(
            address=address,
            text=(
                f"This assistant is private. Your id here is `{sender.id}`: its owner can let you "
                f"in by adding it to `channels.{self._name}.members` in the configuration."
            ),
            kind=OutboundKind.NOTICE,
            key=f"stranger:{address.channel}:{sender.id}:{day}",
        )


def _check_ids(message: InboundMessage) -> None:
    """Raises UnicodeError for an id that no store can hold."""
    msgspec.json.encode(message)
    ids = (message.address, message.sender.id, message.message_id, message.dedupe_key)
    if any("\0" in str(each) for each in ids):
        raise UnicodeError("an id contains a NUL character")


def _named_cleanly(file: Attachment) -> Attachment:
    return msgspec.structs.replace(
        file, name=without_controls(file.name), mime=without_controls(file.mime)
    )


def _too_long(length: int) -> str:
    return (
        f"This message has {length:,} characters; I take at most {MAX_TEXT:,}. "
        "Please send it in pieces, or put it into a file in my workspace."
    )
