"""What plugins do for a channel besides receiving and delivering: signs of a run, menus, files of
code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import msgspec

from nanobot.boundary import boundary
from nanobot.channels.chat_leases import ChatLeases
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.sender import PartSender
from nanobot.config.settings.channels import ChannelSettings
from nanobot.messages import InboundMessage, OutboundMessage, Role
from nanobot.ports import Channel
from nanobot.session.inbox import Admission, Admitted
from nanobot.supervision import Work

T = TypeVar("T")


class Companion:
    """One of these for one channel. Methods that are not overridden do nothing."""

    def speaking(self) -> Mapping[str, Work]:
        """Its tasks, by name, in each process that sends to the channel's chats."""
        return {}

    def receiving(self, intake: ChannelIntake) -> Mapping[str, Work]:
        """Its tasks, by name, in the process that receives the channel's messages."""
        return {}

    def up(self) -> None:
        """The platform responds, perhaps after an interruption."""

    def admitted(
        self, message: InboundMessage, outcome: Admitted, role: Role, *, performing: bool
    ) -> None:
        """A message is in the journal. `performing`: it is a command in progress."""

    def shaped(self, message: OutboundMessage) -> OutboundMessage:
        """A message as it is rendered, perhaps on a thread; log and outbox keep the original."""
        return message

    def admitting(self, admission: Admission) -> Admission:
        """A message or order before it is stored, perhaps with what its chat shows."""
        return admission

    def holds(self, key: str) -> bool:
        """Whether the message with that key must wait for `release`, or replaces what is shown."""
        return False

    async def release(self, key: str) -> None:
        """The message with that key is about to be delivered: return when what is shown for it is
        no longer changed."""

    async def rest(self) -> None:
        """Begin nothing more, and wait for calls in progress."""


class Companions:
    """Those of one channel. One that fails has no effect on the others, nor on the channel."""

    def __init__(self, channel: str, each: Sequence[Companion]) -> None:
        self._channel = channel
        usual = {name: it for name, it in vars(Companion).items() if not name.startswith("_")}
        self._able = {
            name: [one for one in each if getattr(type(one), name) is not it]
            for name, it in usual.items()
        }

    def speaking(self) -> dict[str, Work]:
        every = self._of("speaking", lambda each: each.speaking())
        return {name: work for works in every for name, work in works.items()}

    def receiving(self, intake: ChannelIntake) -> dict[str, Work]:
        every = self._of("receiving", lambda each: each.receiving(intake))
        return {name: work for works in every for name, work in works.items()}

    def up(self) -> None:
        self._of("up", lambda each: each.up())

    def admitted(
        self, message: InboundMessage, outcome: Admitted, role: Role, *, performing: bool
    ) -> None:
        self._of(
            "admitted", lambda each: each.admitted(message, outcome, role, performing=performing)
        )

    def shaped(self, message: OutboundMessage) -> OutboundMessage:
        for each in self._able["shaped"]:
            with self._contained(each):
                message = each.shaped(message)
        return message

    def admitting(self, admission: Admission) -> Admission:
        for each in self._able["admitting"]:
            with self._contained(each):
                admission = each.admitting(admission)
        return admission

    def holds(self, key: str) -> bool:
        return any(self._of("holds", lambda each: each.holds(key)))

    async def release(self, key: str) -> None:
        for each in self._able["release"]:
            with self._contained(each):
                await each.release(key)

    async def rest(self) -> None:
        for each in self._able["rest"]:
            with self._contained(each):
                await each.rest()

    def _contained(self, each: Companion) -> AbstractContextManager[object]:
        return boundary(f"{type(each).__name__} of {self._channel}")

    def _of(self, name: str, call: Callable[[Companion], T]) -> list[T]:
        found: list[T] = []
        for each in self._able[name]:
            with self._contained(each):
                found.append(call(each))
        return found


class ChannelParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the companions of one channel are made of. `text_of`: a run's text so far, None once it
    is not driven here."""

    name: str
    channel: Channel
    sender: PartSender
    leases: ChatLeases
    moved: MovedChats
    text_of: Callable[[str], str | None]
    settings: ChannelSettings
