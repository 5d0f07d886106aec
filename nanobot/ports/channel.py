"""The port of chat platforms: what an adapter implements, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports.missed import CatchUp, History


class OutboundPart(msgspec.Struct, frozen=True, kw_only=True):
    """One rendered platform message of an outbound message."""

    text: str
    """The plain-text fallback, or the caption of `file`."""
    payload: bytes = b""
    """The adapter's JSON object, stored so that a retry after an upgrade sends the same."""
    key: str = ""
    """Permanently unique: a nonce where the platform takes one."""
    file: Attachment | None = None
    """The part is this file."""
    others: tuple[Attachment, ...] = ()
    """More files of the same message, see ports.Albums."""


class Rate(msgspec.Struct, frozen=True):
    """At most `count` messages in `seconds`."""

    count: int
    seconds: float


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The abilities of a channel.

    An adapter has further abilities by implementing: Probing, Editing, Deleting, Drafting,
    Streaming, Confiding, Telling, Fetching, Filing, Albums, Reacting, Recalling, Commanding,
    Receiving."""

    waits: bool = False
    """Messages wait until a client attaches, however long."""
    typing: bool = False
    reconciles: bool = False
    """`find` can look a part up."""
    buttons: bool = False
    """Choices become buttons; otherwise `render` writes them as text."""
    chat_rate: Rate | None = None
    """The platform's documented rate for a chat. Sends slow down to it after a complaint."""
    bot_rate: Rate | None = None
    """The same for the whole bot."""
    edit_rate: Rate | None = None
    """For edits by the whole bot; previews leave half of it to answers."""
    heartbeat: float | None = None
    """Seconds between calls of Intake.alive while all is well; after twice that the channel is
    restarted."""
    discreet: bool = False
    """A stranger who cannot be paired gets no answer at all."""
    threads: bool = False
    """Each thread is a separate conversation, even if the session policy is one per chat."""
    code_limit: int = 4_000
    """A code block with more characters becomes a file, if the channel is Filing (0: never)."""
    shared: bool = False
    """Several processes may send for the account, each by an adapter of its own; one receives."""


class Intake(Protocol):
    """Receives the messages of one channel."""

    async def account(self, identity: str) -> None:
        """Report the adapter's identity on the platform (the id of a bot or user, a mailbox). It
        must stay the same as long as message ids and cursor keep their meaning. Call this before
        `cursor`, at every start. After a change, messages of the earlier identity no longer count
        as known, and its cursor is kept for its return. An adapter without an identity skips this.
        """

    async def cursor(self) -> str | None:
        """The cursor of the last admitted batch, also of earlier processes; None at first."""

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        """Commit the messages and the cursor in one transaction.

        Acknowledge messages to the platform only after this returns. Known messages are dropped by
        their dedupe_key; of reactions only their decision is stored. If this raises, nothing of the
        batch was stored.
        """

    async def chats(self) -> list[Address]:
        """Every chat of this channel with admitted messages, the latest first: where to look for
        messages sent while no process was receiving."""

    def in_order(self, history: History) -> CatchUp:
        """For platforms with a readable history: look up missed messages, hold live messages until
        those are committed, and move the cursor. Messages are committed with `admit`."""

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        """The chat's id on the platform is now `new_chat_id`. This is on disk when it returns.
        Messages from there then belong to the known chat (its session, jobs, rules and settings),
        and its outgoing messages go there. Repeating it has no effect. Call it before admitting the
        first message with the new id; the adapter continues to use the platform's ids."""

    def alive(self) -> None:
        """The platform has just responded (a poll, a heartbeat). The first call means: up."""


class Channel(Protocol):
    """A chat platform.

    The host supervises `run`, paces `send`, and shows `typing`. An adapter keeps no queue, never
    retries and never swallows an error: it raises errors of the ChannelError branch.
    """

    capabilities: Capabilities

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises BadCredentials (final) or ChannelDown (restart)."""

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts in order, within the platform's limits, none empty; loses no text. Pure, except
        for formats that the chat refused (FormRefused)."""

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns the platform's message id. `plain`: `part.text`, unformatted.

        Raises NotSent, Refused, ChatGone, ThreadGone, ChatMoved, NobodyThere or OutcomeUnknown. An
        error status means that nothing was applied only if the platform's own API replied, in its
        own format: a proxy's reply (502, 504, a page of HTML) is OutcomeUnknown.
        """

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The message id of a part with an unknown outcome; None if it was certainly not applied.

        `since`: when the first send in doubt began, in unix seconds by this machine's clock; an
        earlier message is a different one. Raises Uncertain if the platform cannot tell, and as
        `send` if it could not be asked.
        """

    async def typing(self, address: Address) -> None:
        """Show that an answer is being written; the host ignores errors."""

    async def close(self) -> None:
        """Close connections. No method is called after this."""
