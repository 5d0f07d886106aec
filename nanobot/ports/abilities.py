"""Optional abilities of platforms: each is a Protocol that an adapter may implement."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.messages import Address, Attachment, InboundMessage, Step
from nanobot.ports.channel import OutboundPart


class Reaction(StrEnum):
    """The state of a message that a reaction shows."""

    RECEIVED = "received"
    DONE = "done"
    FAILED = "failed"


class MenuCommand(msgspec.Struct, frozen=True):
    """A command in a platform's menu. `usage` names its arguments; `translations`: the help in
    other languages, each after its two-letter code."""

    name: str
    help: str
    usage: str = ""
    translations: tuple[tuple[str, str], ...] = ()


@runtime_checkable
class Probing(Protocol):
    """A channel that can cheaply check whether its platform responds, for platforms that cannot
    tell later whether a send was applied."""

    async def probe(self) -> None:
        """Return when the platform has responded in its own format, even with a refusal. Changes
        nothing there. Raises ChannelDown if there was no usable response."""


@runtime_checkable
class Ordering(Protocol):
    """A channel that can tell which of two messages of a chat was sent first, independent of
    clocks. An answer to a question was sent after it."""

    def is_after(self, message: InboundMessage, receipt: str, shown_at: float) -> bool | None:
        """Whether a message was sent after ours with that id, which this machine knew of at
        `shown_at` (unix seconds); None if these two cannot be compared."""


@runtime_checkable
class Editing(Protocol):
    """A channel with editable messages, for previews that become the answer."""

    async def edit(
        self, address: Address, message_id: str, part: OutboundPart, *, plain: bool = False
    ) -> None:
        """Replace a message of ours; identical content is no error. Raises as `send`."""


@runtime_checkable
class Deleting(Protocol):
    """A channel with deletable messages, for previews that can no longer become the answer."""

    async def delete(self, address: Address, message_id: str) -> None:
        """Delete a message of ours. Raises as `send`: Refused if it is gone or not deletable."""


@runtime_checkable
class Drafting(Protocol):
    """A channel that can show text in progress as a draft, which disappears with a message."""

    def drafts(self, address: Address) -> bool:
        """Whether that chat has drafts: False after one was refused there permanently."""

    async def draft(self, address: Address, key: str, part: OutboundPart) -> None:
        """Replace the draft of the message with that key; an empty part means that nothing is
        written yet. Raises as `send`; Refused if it is not possible there."""


@runtime_checkable
class Confiding(Protocol):
    """A channel that can show a message to only one person of a chat."""

    def confides(self, address: Address, person: str) -> bool:
        """Whether that works there: not in a private chat, or after a permanent refusal."""

    async def confide(self, address: Address, person: str, part: OutboundPart) -> str:
        """Send a part that only this person sees; returns its message id, for `edit`. Raises as
        `send`; after Refused the part is sent to all."""


@runtime_checkable
class Streaming(Protocol):
    """A channel whose messages can grow while they are written. `edit` sets the final content of
    such a message, also if another process started it."""

    def streams(self, address: Address) -> bool:
        """Whether messages can grow there, as far as is known: False after a refusal."""

    async def start(
        self, address: Address, part: OutboundPart, steps: Sequence[Step], reply_to: str | None
    ) -> str:
        """Start a message with these steps, `part` being its text; returns its id, as `find` would
        for that part. Raises as `send`; Refused if it is not possible there."""

    async def grow(self, address: Address, message_id: str, steps: Sequence[Step]) -> None:
        """Show these steps, which begin with those already shown. Raises NotSent if none was added
        and a retry may work; Refused if it can now only be edited."""


@runtime_checkable
class Telling(Protocol):
    """A channel that can describe the current work instead of `typing`."""

    async def tell(self, address: Address, doing: str) -> None:
        """Show it ("exec: ls") for as long as `typing` would; the host ignores errors."""


@runtime_checkable
class Fetching(Protocol):
    """A channel whose messages come with files."""

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """The content behind `attachment.ref`, at most `limit` bytes. Raises Refused, with a reason
        for the person, if it will never be available, and ChannelDown if it may be later."""


@runtime_checkable
class Filing(Protocol):
    """A channel that can send files."""

    async def send_file(self, address: Address, part: OutboundPart, content: bytes) -> str:
        """Send `part.file` with the caption `part.text`; returns the message id. Raises
        as `send`."""


@runtime_checkable
class Albums(Protocol):
    """A channel that shows several files as one message."""

    def together(self, files: Sequence[Attachment]) -> int:
        """How many of these files, from the first on, fit into one message: at least 1. Pure,
        except for formats that the platform refused."""

    async def send_album(
        self, address: Address, part: OutboundPart, contents: Sequence[bytes]
    ) -> str:
        """Send the part's files as one message; returns its first id. Raises as `send`; Refused
        means that nothing was sent, and each file is then sent as a separate part."""


@runtime_checkable
class Reacting(Protocol):
    """A channel with reactions."""

    async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
        """Replace our reaction to a message; the host ignores errors."""


@runtime_checkable
class Recalling(Protocol):
    """A channel that can look up reactions to our messages that were made while it was down."""

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        """The current reactions, each in the form in which it would arrive. Raises as `find`."""


@runtime_checkable
class Commanding(Protocol):
    """A channel whose platform has a menu of commands."""

    async def register(self, commands: Sequence[MenuCommand]) -> None:
        """Set the menu. Raises ChannelError, which the host logs."""


@runtime_checkable
class CommandingByChat(Protocol):
    """A channel with different menus for different chats."""

    async def register_in(self, chat_id: str, commands: Sequence[MenuCommand]) -> None:
        """Set the menu of that chat; an empty one restores the default. Raises ChannelError."""

    async def register_in_groups(self, commands: Sequence[MenuCommand]) -> None:
        """Set the menu of all groups. Raises ChannelError."""
