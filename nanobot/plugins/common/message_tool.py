"""The tool that sends a message to a chat, exactly once, also across crashes; its result is the
receipt.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping
from posixpath import basename
from typing import Annotated, Any

import msgspec

from nanobot.errors import ToolArgumentsError
from nanobot.labels import Label
from nanobot.messages import Address, Attachment, OutboundKind, OutboundMessage
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.typed import Said, by_words, said
from nanobot.text import clean, quoted
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput
from nanobot.tools.desk import MAX_BYTES
from nanobot.visible import blank

MAX_CHARS = 100_000
MAX_FILES = 10


class MessageArgs(msgspec.Struct, frozen=True):
    """Arguments of message."""

    content: Annotated[
        str, msgspec.Meta(max_length=MAX_CHARS, description="The text, in Markdown")
    ] = ""
    channel: Annotated[str, msgspec.Meta(description="Another channel than this one")] | None = None
    chat_id: Annotated[str, msgspec.Meta(description="Another chat than this one")] | None = None
    files: Annotated[
        tuple[str, ...],
        msgspec.Meta(max_length=MAX_FILES, description="Paths of files to send with it"),
    ] = ()


def message_tool(
    channels: Collection[str] | None, roots: ConfinedFiles | None = None
) -> Tool[MessageArgs]:
    """message, to the run's chat or, if the policy allows it, to another chat of these channels
    (None: of any), with files that `roots` reaches. It is stored under the call's identity, so that
    a call repeated after a crash sends nothing again. The target chat's log also contains it, for
    runs that answer there.
    """

    async def kept(path: str, context: CallContext) -> Attachment:
        if roots is None:
            raise ToolArgumentsError("files: none can be sent from here")
        content = await asyncio.to_thread(_content, roots, path)
        return await context.keep(content, basename(path))

    async def run(args: MessageArgs, context: CallContext) -> ToolOutput:
        to = _address(args, context)
        if channels is not None and to.channel not in channels:
            served = ", ".join(sorted(channels))
            raise ToolArgumentsError(f"channel: there is no {quoted(to.channel, 60)}; {served} are")
        if blank(args.content) and not args.files:
            raise ToolArgumentsError("content: there is nothing to say")
        files = [await kept(path, context) for path in args.files]
        label = _label_of(args, context)
        sent = OutboundMessage(
            address=to,
            text=clean(args.content),
            key=f"{context.key}:message",
            kind=OutboundKind.POST,
            attachments=tuple(files),
            tainted=label.tainted,
            label=label.encoded(),
        )
        where = "this chat" if to == context.address else str(to)
        text = f"queued for {where}; should it not arrive, you are told in that conversation"
        return ToolOutput(text, (sent,))

    return Tool(
        name="message",
        description=(
            "Send a message now, before your answer or to another chat, or send files. "
            "Your answer itself needs no tool: it goes to this chat anyway."
        ),
        args=MessageArgs,
        run=run,
        effect=Effect.STORE,
        taints=False,
        typed=by_words(is_typed),
        elsewhere=lambda args, context: _address(args, context) != context.address,
    )


def _content(roots: ConfinedFiles, path: str) -> bytes:
    """A file in its current state. Raises ToolError if it cannot be read, is empty or too large."""
    with roots.file(path) as (descriptor, status):
        if not 0 < status.st_size <= MAX_BYTES:
            raise ToolArgumentsError(
                f"files: {quoted(path, 80)} has {status.st_size:,} bytes; "
                f"what can be sent has 1 to {MAX_BYTES:,}"
            )
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(MAX_BYTES)


def _label_of(args: MessageArgs, context: CallContext) -> Label:
    """The label of a message: only its person's, if they typed all of it."""
    words = said(context.run_id, context.role, context.entries)
    if words is not None and is_typed(msgspec.to_builtins(args), words):
        return words.label
    return context.label


def is_typed(arguments: Mapping[str, Any], said: Said) -> bool:
    """Whether the message contains all of the text."""
    return not arguments.get("files") and said.has(arguments, "content")


def _address(args: MessageArgs, context: CallContext) -> Address:
    """The destination. For another channel, a chat must be given."""
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
