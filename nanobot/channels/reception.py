"""What the intake of a channel asks the rest of the gateway before a message is in the journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from nanobot.messages import Address, InboundMessage, Role
from nanobot.ports import CatchUp, History, Intake
from nanobot.session.entries import ReplyEntry
from nanobot.session.inbox import Admission
from nanobot.session.said import Order, Said, Waiting


class Commands(Protocol):
    """What people can order in a chat."""

    def knows(self, text: str) -> bool:
        """Whether the text is a command."""

    def unknown(self, text: str) -> str:
        """The answer to an unknown command; empty for ordinary text."""

    async def settled(
        self, said: Said, order: Order = ..., waiting: Waiting = ...
    ) -> Admission | None:
        """A command, or a decision on something that was asked, with its answer. None for a message
        that waits for a run."""

    async def reacted(self, message: InboundMessage, role: Role) -> None:
        """Decide what was asked in the message that a person reacted to, if the reaction is a clear
        yes or no."""


class InOrder(Protocol):
    """Brings missed and live messages to an intake. The plugin `missed_reactions` offers it, on or
    off; without it there is LiveOnly."""

    def __call__(self, intake: Intake, history: History) -> CatchUp:
        """See ports.Intake."""


class Reception(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the gateway that an intake asks."""

    commands: Commands
    chats: Callable[[str], Awaitable[list[Address]]]
    """The addresses where a channel's runs were requested, latest first."""
    partial: Callable[[str], ReplyEntry | None]
    """What a session's run has said so far."""
    now: Callable[[], float]
    """In unix seconds."""
    in_order: InOrder
