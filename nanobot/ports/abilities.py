"""What some platforms can do besides: each ability is a Protocol that an adapter may implement."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, Step
from nanobot.ports.channel import OutboundPart


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


@runtime_checkable
class Probing(Protocol):
    """A channel that can tell cheaply whether its platform answers, for platforms that cannot tell
    later whether a send was applied."""

    async def probe(self) -> None:
        """Return once the platform answered in its own form, even with a refusal. Changes nothing
        there. Raises ChannelDown if no usable answer came."""
        ...


@runtime_checkable
class Ordering(Protocol):
    """A channel that can tell which of two messages of a chat was sent first, whatever the clocks
    of this machine and of people say: what answers a question was sent after it."""

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """Whether a message was sent after ours of that id, which this machine knew of at
        `shown_at` (unix seconds); None if these two cannot be compared."""
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
class Albums(Protocol):
    """A channel that shows several files as one message."""

    def together(self, files: Sequence[Attachment]) -> int:
        """How many of these files, from the first on, may go into one message: at least 1. Pure,
        but for forms that the platform did not take."""
        ...

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send the part's files as one message; returns its first id. Raises as `send`; after
        Refused, which means that nothing was sent, each is sent as a part of its own."""
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
