"""A person's message in a conversation, and how it is answered without a run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

import msgspec

from nanobot.messages import Choice, InboundMessage, OutboundKind, OutboundMessage, Role
from nanobot.session import keys
from nanobot.session.inbox import Admission
from nanobot.text import Sentence, Spans

Order: TypeAlias = Callable[[InboundMessage, str, float], bool | None]
"""Whether a message was sent after another of our own, by its receipt and when we knew of that
(unix seconds); None where the platform cannot tell."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A person's message in a conversation."""

    message: InboundMessage
    session_key: str
    role: Role

    @property
    def person(self) -> str:
        """The identity of its sender, unique among all channels."""
        return keys.person(self.message.address.channel, self.message.sender.id)

    def answered(
        self,
        text: Sentence,
        *,
        refused: bool = False,
        choices: tuple[Choice, ...] = (),
        own: Spans | None = None,
    ) -> Admission:
        """The message with its answer, to be committed as one."""
        return Admission(
            message=self.message,
            session_key=self.session_key,
            role=self.role,
            answer=notice(self.message, text, refused=refused, choices=choices, own=own),
        )


Perform: TypeAlias = Callable[[float], Coroutine[Any, Any, Admission]]
"""Performs a command for at most so many seconds. Gives its message with the answer."""


class Waiting(Protocol):
    """Waits for the commands of a chat."""

    async def command(self, said: Said, perform: Perform) -> Admission:
        """The command's message with its answer, or, if that takes longer than a chat can wait, as
        `performing`."""

    def stop(self, said: Said, *, everyone: bool) -> bool:
        """Stop the commands in progress there, one's own or everyone's. False: there are none."""


def notice(
    message: InboundMessage,
    text: Sentence,
    *,
    refused: bool = False,
    choices: tuple[Choice, ...] = (),
    own: Spans | None = None,
) -> OutboundMessage:
    """The gateway's answer to a message; its key prevents a second one. In a group, only the person
    concerned sees a refusal (`refused`) or the answer to a hidden command. `own`: see
    OutboundMessage."""
    alone = message.group and (refused or message.unseen)
    return OutboundMessage(
        address=message.address,
        text=text,
        kind=OutboundKind.NOTICE,
        key=keys.NOTICES.of(keys.message(message.address, message.dedupe_key)),
        reply_to=message.message_id,
        choices=choices,
        only_for=message.sender.id if alone else "",
        own=own,
    )
