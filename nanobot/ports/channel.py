"""What every chat platform's adapter offers, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage
from nanobot.ports.missed import CatchUp, History


class OutboundPart(msgspec.Struct, frozen=True, kw_only=True):
    """One platform message of an outbound message, rendered. `payload` is the adapter's own JSON
    object as bytes (stored, so that a retry after an upgrade sends what was promised); `text` is
    the plain-text fallback. `key` is unique for ever: a nonce where the platform takes one. With
    `file` the part is that file, and `text` its caption; `others` are the files that go with it in
    one message, see ports.Albums."""

    text: str
    payload: bytes = b""
    key: str = ""
    file: Attachment | None = None
    others: tuple[Attachment, ...] = ()


class Rate(msgspec.Struct, frozen=True):
    """At most `count` messages in `seconds`."""

    count: int
    seconds: float


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do. `reconciles`: `find` can look a part up. `waits`: messages wait for
    somebody to attach, however long. `buttons`: choices become buttons; elsewhere `render` writes
    them out. The rates are the platform's documented ones, for a chat and for the whole bot: sends
    are slowed down to them once it has complained. `edit_rate`: that of edits by the whole bot;
    previews leave half of it to answers. `heartbeat`: seconds between two calls of Intake.alive as
    long as all is well; after twice that the channel is started again. `discreet`: a stranger who
    cannot be paired gets no answer at all. `threads`: each thread is a conversation, also where a
    chat is one by the session policy. `code_limit`: characters of a block of code beyond which it
    becomes a file, where the channel is Filing (0: never). `shared`: several processes may send for
    the same account, each with an adapter of its own, of which one receives.

    More of it is said by what else an adapter is: Probing, Editing, Deleting, Drafting, Streaming,
    Confiding, Telling, Fetching, Filing, Albums, Reacting, Recalling, Commanding, Receiving.
    """

    waits: bool = False
    typing: bool = False
    reconciles: bool = False
    buttons: bool = False
    chat_rate: Rate | None = None
    bot_rate: Rate | None = None
    edit_rate: Rate | None = None
    heartbeat: float | None = None
    discreet: bool = False
    threads: bool = False
    code_limit: int = 4_000
    shared: bool = False


class Intake(Protocol):
    """Where the messages of one channel come in."""

    async def account(self, identity: str) -> None:
        """Who the adapter is on the platform (a bot's or user's id, a mailbox): the same as long as
        message ids and cursor mean the same. To be called before `cursor`, at every start. When it
        is another than before, what the earlier one had taken counts no more as known, and its
        cursor is kept for its return. An adapter that cannot know it does not call this."""
        ...

    async def cursor(self) -> str | None:
        """The cursor of the last admitted batch, from before this process too; None at first."""
        ...

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        """Commit the messages and the cursor in one transaction.

        When it returns, and only then, the platform may be told that they arrived. Messages seen
        before are dropped by their dedupe_key; reactions leave nothing but what they decided. If it
        raises, nothing of the batch was taken.
        """
        ...

    async def chats(self) -> list[Address]:
        """Every chat of this channel that was admitted from before, the latest first: where to
        look for what was said while nobody was here."""
        ...

    def in_order(self, history: History) -> CatchUp:
        """For platforms that tell later what was said while nobody was here: looks that up, keeps
        live messages until it is committed, and moves the cursor. What it commits goes to `admit`.
        """
        ...

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        """On the platform a chat goes on as `new_chat_id`. When it returns that is on disk: what
        comes from there belongs to the chat that was known before (its session, jobs, rules and
        settings), and what that chat is owed goes there. A second time it does nothing. To be
        called before the first message from the new id is admitted; an adapter goes on naming
        chats as the platform does."""
        ...

    def alive(self) -> None:
        """The platform answered just now (a poll, a heartbeat). The first call means: up."""
        ...


class Channel(Protocol):
    """A chat platform.

    The host supervises `run`, paces `send`, and shows `typing`; an adapter keeps no queue, never
    retries and never swallows an error: it raises from errors.ChannelError's branch.
    """

    capabilities: Capabilities

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises BadCredentials (final) or ChannelDown (start again)."""
        ...

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The parts in order, within the platform's limits, none empty; loses no text. Pure, but
        for forms that the chat did not take (FormRefused)."""
        ...

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Send one part; returns the platform's message id. `plain`: `part.text`, unformatted.

        Raises NotSent, Refused, ChatGone, ThreadGone, ChatMoved, NobodyThere or OutcomeUnknown.
        An error status means that nothing was applied only where the platform's own API answered,
        in its own form: what a proxy says (502, 504, a page of HTML) is OutcomeUnknown.
        """
        ...

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """The message id of a part of unknown outcome, None if it was certainly not applied.

        `since`: when the first send that is in doubt began, unix seconds by this machine's clock;
        a message from before it is another one. Raises Uncertain if the platform cannot tell, and
        as `send` if it could not be asked.
        """
        ...

    async def typing(self, address: Address) -> None:
        """Show that an answer is being made; errors are the host's to ignore."""
        ...

    async def close(self) -> None:
        """Release connections; after it nothing is called."""
        ...
