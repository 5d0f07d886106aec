"""How the chats of a channel show a run while it works, besides the sign of typing. A plugin gives
these ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from nanobot.channels.activity import Activity, RunEnded, RunInProgress
from nanobot.channels.chat_leases import ChatLeases
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.sender import PartSender
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Channel, Clock
from nanobot.seam.faces import Interface
from nanobot.session.inbox import Admitted
from nanobot.session.journal import Journal


class Showing:
    """One way to show runs in the chats of one channel. Methods that are not overridden show
    nothing."""

    async def run(self) -> None:
        """Show active runs, until cancelled."""
        raise NotImplementedError

    def received(self, message: InboundMessage, admitted: Admitted) -> None:
        """A message is in the journal."""

    def ended(self, ended: RunEnded) -> None:
        """The run of some messages has ended."""

    def shows(self, run: RunInProgress) -> bool:
        """Whether the chat sees that the run works, so that it needs no sign of typing."""
        return False

    def draft(self, address: Address) -> str | None:
        """The text that disappears from a chat when its run ends, "" if there is none now; None:
        this chat has no drafts."""
        return None

    def holds(self, key: str) -> bool:
        """Whether the message with that key must wait for `release`, or replaces what is shown."""
        return False

    async def release(self, key: str) -> None:
        """The message with that key is about to be delivered: return when what is shown for it is
        no longer changed."""

    async def rest(self) -> None:
        """Begin nothing more, and wait for calls in progress."""


class ShowingParts(msgspec.Struct, frozen=True, kw_only=True):
    """What shows runs in the chats of one channel is made of this. `text_of`: a run's text so far,
    None once it is not driven here. `preview`, `show_tools`, `marks`: see
    nanobot.config.settings.channels."""

    name: str
    channel: Channel
    sender: PartSender
    journal: Journal
    clock: Clock
    activity: Activity
    leases: ChatLeases
    moved: MovedChats
    text_of: Callable[[str], str | None]
    preview: bool
    show_tools: bool
    marks: bool


SHOWING: Interface[Callable[[ShowingParts], Sequence[Showing]]] = Interface("showing")
"""The ways in which the chats of a channel show runs."""
