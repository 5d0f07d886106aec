"""The tool that sends a message to a chat, committed together with its result."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import msgspec

from nanobot.bus.events import Address, OutboundKind, OutboundMessage
from nanobot.errors import ToolArgumentsError
from nanobot.tools.base import CallContext, Effect, Queued, Tool
from nanobot.tools.result import clean, quoted

MAX_CHARS = 100_000


class Message(msgspec.Struct, frozen=True):
    """Arguments of message."""

    content: Annotated[
        str, msgspec.Meta(min_length=1, max_length=MAX_CHARS, description="The text, in Markdown")
    ]
    channel: Annotated[str, msgspec.Meta(description="Another channel than this one")] | None = None
    chat_id: Annotated[str, msgspec.Meta(description="Another chat than this one")] | None = None


def message_tool(channels: Collection[str]) -> Tool[Message]:
    """message, to the chat of the run or, as far as the policy lets it, to another one of these
    channels. The message and the result are one transaction, so that neither is there without the
    other; the chat's own log has it too, for whoever answers there."""

    async def run(args: Message, context: CallContext) -> Queued:
        to = _address(args, context)
        if to.channel not in channels:
            known = ", ".join(sorted(channels))
            raise ToolArgumentsError(f"channel: there is no {quoted(to.channel, 60)}; {known} are")
        if not args.content.strip():
            raise ToolArgumentsError("content: there is nothing to say")
        sent = OutboundMessage(
            address=to,
            text=clean(args.content),
            key=f"{context.key}:message",
            kind=OutboundKind.POST,
        )
        where = "this chat" if to == context.address else str(to)
        told = f"queued for {where}; should it not arrive, you are told in that conversation"
        return Queued(told, (sent,))

    return Tool(
        name="message",
        description=(
            "Send a message now, before your answer or to another chat. "
            "Your answer itself needs no tool: it goes to this chat anyway."
        ),
        args=Message,
        run=run,
        effect=Effect.STORE,
        elsewhere=lambda args, context: _address(args, context) != context.address,
    )


def _address(args: Message, context: CallContext) -> Address:
    """Where it goes. Another channel needs a chat of its own."""
    own = context.address
    channel = args.channel or own.channel
    if args.chat_id is None:
        if channel != own.channel:
            raise ToolArgumentsError("chat_id: required with another channel")
        return own
    if not args.chat_id.strip():
        raise ToolArgumentsError("chat_id: must name a chat")
    chat = Address(channel, clean(args.chat_id.strip()))
    same = (chat.channel, chat.chat_id) == (own.channel, own.chat_id)
    return own if same else chat
