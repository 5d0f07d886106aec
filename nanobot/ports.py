"""The seams: what the core needs from stores, channels and the machine, on one page each.

An obligation in a docstring here is tested by the port's contract suite, for every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, OutboundMessage, Step


class Clock(Protocol):
    """Time, injected so that tests own it."""

    def now(self) -> float:
        """Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Ids(Protocol):
    """Where identities and salts come from."""

    def run_id(self) -> str:
        """Unique for ever; sorts by time of creation."""
        ...

    def salt(self) -> bytes:
        """16 random bytes."""
        ...


class BlobReader(Protocol):
    """Where the content of files is read."""

    async def read(self, digest: str) -> bytes:
        """The content with this sha256 (`Attachment.blob`). Raises BlobMissing."""
        ...


class OutboundPart(msgspec.Struct, frozen=True, kw_only=True):
    """One platform message of an outbound message, rendered. `payload` is the adapter's own JSON
    object as bytes (stored, so that a retry after an upgrade sends what was promised); `text` is
    the plain-text fallback. `key` is unique for ever: a nonce where the platform takes one. With
    `file` the part is that file, and `text` its caption."""

    text: str
    payload: bytes = b""
    key: str = ""
    file: Attachment | None = None


class Rate(msgspec.Struct, frozen=True):
    """At most `count` messages in `seconds`."""

    count: int
    seconds: float


class Reaction(StrEnum):
    """What a reaction to a message says of it."""

    RECEIVED = "received"
    DONE = "done"
    FAILED = "failed"


class MenuCommand(msgspec.Struct, frozen=True):
    """A command as a platform's menu shows it. `usage` names its arguments, `translations` are the
    help in other languages, each behind its two letters."""

    name: str
    help: str
    usage: str = ""
    translations: tuple[tuple[str, str], ...] = ()


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do. `reconciles`: `find` can look a part up. `waits`: messages wait for
    somebody to attach, however long. `buttons`: choices become buttons; elsewhere `render` writes
    them out. The rates are the platform's documented ones, for a chat and for the whole bot: sends
    are slowed down to them once it has complained. `edit_rate`: that of edits by the whole bot;
    previews leave half of it to answers. `heartbeat`: seconds between two calls of Intake.alive as
    long as all is well; after twice that the channel is started again. `discreet`: a stranger who
    cannot be paired gets no answer at all. `threads`: each thread is a conversation, also where a
    chat is one by the session policy. `code_limit`: characters of a block of code beyond which it
    becomes a file, where the channel is Filing (0: never).

    More of it is said by what else an adapter is: Probing, Editing, Deleting, Drafting, Streaming,
    Confiding, Telling, Fetching, Filing, Reacting, Recalling, Commanding.
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


class SetupField(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a channel's table, as a person is asked for it. `secret`: not shown while it is
    typed, and kept in a file of its own. `many`: a list. `usual` is taken on a bare Enter; "@KEY"
    in it stands for what follows the @ in the answer to KEY. `variables` of the environment may
    hold it already."""

    key: str
    asks: str
    secret: bool = False
    optional: bool = False
    many: bool = False
    usual: str = ""
    variables: tuple[str, ...] = ()


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What `nanobot onboard` asks before it opens a channel: `SETUP` in the adapter's module. It
    may be missing.

    `steps`: how to come by it all, for people; `docs`: where more of it stands. `person` is what a
    person's id is called there, `pattern` how one looks; `only`: the one there is. `knock`: how to
    be the first who writes ({bot}: who it is there); "": nobody can be waited for. `keeps`: the
    gateway gets that message again. `id_is_chat`: a person's id is that of the chat with them.
    """

    title: str
    steps: str
    docs: str = ""
    fields: tuple[SetupField, ...] = ()
    person: str = "Your id"
    pattern: str = r"\S+"
    only: str = ""
    knock: str = ""
    keeps: bool = False
    id_is_chat: bool = False


class Checked(msgspec.Struct, frozen=True):
    """A channel that was let in. `lacking`: a sentence on what it cannot do all the same, and what
    to do about it."""

    who: str
    lacking: str = ""


@runtime_checkable
class SelfChecking(Protocol):
    """A channel that can tell whether it would work, for doctor and onboard. An adapter need not
    be one."""

    async def check(self) -> str | Checked:
        """Who it is over there, by the platform's cheapest call; changes nothing there.

        Raises BadCredentials or ChannelDown.
        """
        ...


@runtime_checkable
class Probing(Protocol):
    """A channel that can tell cheaply whether its platform answers, for platforms that cannot tell
    later whether a send was applied."""

    async def probe(self) -> None:
        """Return once the platform answered in its own form, even with a refusal. Changes nothing
        there. Raises ChannelDown if no usable answer came."""
        ...


@runtime_checkable
class Editing(Protocol):
    """A channel whose messages can be replaced: previews that become the answer."""

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace a message of ours; that it already reads so is no error. Raises as `send`."""
        ...


@runtime_checkable
class Deleting(Protocol):
    """A channel whose messages can be deleted: a preview that can no longer become its answer."""

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message of ours. Raises as `send`: Refused when it is gone or may not be."""
        ...


@runtime_checkable
class Drafting(Protocol):
    """A channel that can show what is being written in a draft, which goes away with a message."""

    def drafts(self, address: Address) -> bool:
        """Whether there are drafts in that chat: False once one was refused there for good."""
        ...

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        """Show the part as the draft of the message with that key in the place of the last; empty,
        nothing is written yet. Raises as `send`; Refused if it is not possible there."""
        ...


@runtime_checkable
class Confiding(Protocol):
    """A channel that can show a message to one person of a chat alone."""

    def confides(self, address: Address, person: str) -> bool:
        """Whether it can be done there: not in their own chat, or once it was refused for good."""
        ...

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        """Send a part that this person alone sees; returns its message id, for `edit`. Raises as
        `send`; after Refused the part is sent to all."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A channel whose messages can grow while they are written. `edit` makes such a message what it
    is to be in the end, whatever it said, also after another process had begun it."""

    def streams(self, address: Address) -> bool:
        """Whether messages can grow there, as far as is known: False once it was refused."""
        ...

    async def start(
        self, address: Address, part: OutboundPart, steps: Sequence[Step], reply_to: str | None
    ) -> str:
        """Begin a message with these steps, `part` being its text; returns its id, as `find` by
        that part. Raises as `send`; Refused if it is not possible there."""
        ...

    async def grow(self, address: Address, message_id: str, steps: Sequence[Step]) -> None:
        """Show these steps, which begin with those shown before. Raises NotSent if nothing was, and
        it may be tried again; Refused once it can only be edited."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A channel that can show in words what is being done, in the place of `typing`."""

    async def tell(self, address: Address, doing: str) -> None:
        """Show it ("exec: ls") for as long as `typing` would; errors are the host's to ignore."""
        ...


@runtime_checkable
class Fetching(Protocol):
    """A channel whose messages come with files."""

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """The content behind `attachment.ref`, at most `limit` bytes. Raises Refused, with a reason
        for the person, for what will never come, and ChannelDown for what may come later."""
        ...


@runtime_checkable
class Filing(Protocol):
    """A channel that takes files."""

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send `part.file`, its caption `part.text`; returns the message id. Raises as `send`."""
        ...


@runtime_checkable
class Reacting(Protocol):
    """A channel with reactions."""

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Put our reaction to a message in the place of the last; the host ignores errors."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A channel that can look up who reacted to a message of ours while nobody listened."""

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """Those that stand there now, each as when it is made. Raises as `find`."""
        ...


@runtime_checkable
class Commanding(Protocol):
    """A channel whose platform has a menu of commands."""

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        """Make the menu these commands. Raises ChannelError; the host logs it and goes on."""
        ...


@runtime_checkable
class CommandingByChat(Protocol):
    """A channel whose menu may differ from chat to chat."""

    async def register_in(self, chat_id: str, commands: Sequence[MenuCommand]) -> None:
        """Make these the menu of that chat; with none it is everybody's. Raises ChannelError."""
        ...

    async def register_in_groups(self, commands: Sequence[MenuCommand]) -> None:
        """Make the menu of all groups these commands. Raises ChannelError."""
        ...
