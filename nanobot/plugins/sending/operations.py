"""Operations that say something: to the assistant in a session, or to the people of a chat."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.addresses import chat_of, session_at
from nanobot.errors import UsageError
from nanobot.messages import (
    WEB,
    Address,
    OutboundKind,
    OutboundMessage,
    SessionPolicy,
    session_key,
)
from nanobot.operations.conversation import SentMessage, admit, message_of
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional, SessionArgument
from nanobot.operations.rendering import Now
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.text import MAX_TEXT, Sentence, without_controls
from nanobot.visible import blank

_KINDS: tuple[SessionPolicy, ...] = ("chat", "thread")


def _cleaned(text: str) -> str:
    text = without_controls(text)
    if len(text) > MAX_TEXT or blank(text):
        raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
    return text


async def _chat_of(context: OperationContext, session: str) -> Address | None:
    """The chat of a channel or of the page that a session belongs to; None for those of terminals
    and jobs."""
    channel, _, rest = session.partition(":")
    if channel == WEB:
        return Address(WEB, chat_of(session))
    if channel not in context.of(GatewayFacts).now().channels:
        return None
    for address in await context.engine.records.chats(channel):
        keys = {session_key(address, "", policy) for policy in _KINDS}
        if session in keys or any(session.startswith(f"{key}:@") for key in keys):
            return address
    return Address(channel, rest)


def _taken(sent: SentMessage, _: Now) -> Sentence:
    text = f"Added to {sent.session_key}" if sent.fresh else "This message was already accepted"
    return f"{text}; the answer goes to {sent.address}."


@operation("send", text=_taken, example="session=telegram:1001 Summarise the week")
async def send(
    context: OperationContext,
    caller: Caller,
    text: Annotated[Positional, Meta(description="The text to send.")],
    session: SessionArgument = "",
    key: Annotated[str, Meta(description="A key that prevents a second delivery.")] = "",
) -> SentMessage:
    """Send a message to a session; the answer goes to its chat.

    It does not wait for the answer. If no gateway runs, the next start answers. A message with a
    known key is ignored.
    """
    text = _cleaned(text)
    key = key or caller.key or os.urandom(12).hex()
    address = await _chat_of(context, session)
    admission = message_of(context, caller, session, text, key, address)
    admitted = await admit(context, admission)
    return SentMessage(
        session_key=session,
        inbound_id=admitted.inbound_id,
        key=key,
        fresh=admitted.fresh,
        address=str(admission.message.address),
    )


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A stored message to a chat, which the history of the chat's session contains."""

    address: str
    session_key: str
    key: str


def _notified(notification: Notification, _: Now) -> Sentence:
    return f"Queued for {notification.address}; `outbox list` shows its delivery."


@operation("notify", text=_notified, example="telegram:1001 The backup is done.")
async def notify(
    context: OperationContext,
    caller: Caller,
    chat: Annotated[Positional, Meta(description="The chat, as CHANNEL:CHAT.")],
    text: Annotated[Positional, Meta(description="The text to send.")],
    *,
    key: Annotated[str, Meta(description="A key that prevents a second delivery.")] = "",
) -> Notification:
    """Send a message to a chat without asking the model.

    It becomes part of the chat's history, so the assistant understands replies to it. A text with a
    known key is not sent again.
    """
    channel, _, chat_id = chat.partition(":")
    facts = context.of(GatewayFacts).now()
    channels = list(dict.fromkeys((*facts.channels, *facts.addressed)))
    if channel not in channels or not chat_id:
        names = ", ".join(channels)
        raise UsageError(f"{chat[:80]!r} is not a chat: write CHANNEL:CHAT (channels: {names})")
    address = Address(channel, chat_id)
    name = key or caller.key or os.urandom(12).hex()
    message = OutboundMessage(
        address=address,
        text=_cleaned(text),
        kind=OutboundKind.POST,
        key=f"notify:{name}",
        requested=True,
    )
    session = session_at(address)
    await context.engine.journal.post(session, message)
    context.engine.bus.owed(address)
    return Notification(address=str(address), session_key=session, key=message.key)


def operations() -> list[Operation]:
    """All operations."""
    return [send, notify]
