"""The desk of a tool call: stores its files and queues messages to its chat."""

from __future__ import annotations

import mimetypes
from typing import Protocol

from nanobot.errors import StoreUnwritable, ToolError
from nanobot.messages import Attachment, OutboundKind, OutboundMessage
from nanobot.text import clean
from nanobot.tools.base import CallContext, Effect

MAX_BYTES = 50 * 1024 * 1024
"""The largest file that Telegram, the most generous platform here, accepts from a bot."""


class Keeper(Protocol):
    """Stores files by content; see workspace.blobs."""

    async def write(self, content: bytes) -> str:
        """Store the content; returns its digest. Raises StoreUnwritable."""


class CallDesk:
    """See base.Desk; for one call. Its messages are committed under the call's identity, so a call
    repeated after a crash sends nothing twice.
    """

    def __init__(self, blobs: Keeper, context: CallContext, effect: Effect) -> None:
        self.sent: list[OutboundMessage] = []
        self._blobs = blobs
        self._context = context
        self._effect = effect

    async def keep(self, data: bytes, name: str, mime: str = "") -> Attachment:
        if not 0 < len(data) <= MAX_BYTES:
            raise ToolError(f"{name} has {len(data):,} bytes; a file has 1 to {MAX_BYTES:,}")
        mime = mime or mimetypes.guess_type(name)[0] or "application/octet-stream"
        kind = mime.split("/", 1)[0]
        try:
            blob = await self._blobs.write(data)
        except StoreUnwritable as error:
            raise ToolError(str(error)) from error
        return Attachment(
            kind=kind if kind in ("image", "audio", "video") else "document",
            name=clean(name) or "file",
            mime=mime,
            size=len(data),
            blob=blob,
        )

    def send(self, text: str, *files: Attachment) -> None:
        if self._effect is Effect.NONE:
            raise TypeError("a tool that sends something needs effect=Effect.STORE or WORLD")
        context = self._context
        self.sent.append(
            OutboundMessage(
                address=context.address,
                text=clean(text),
                key=f"{context.key}:sent:{len(self.sent)}",
                kind=OutboundKind.POST,
                attachments=files,
                label=context.label.encoded(),
            )
        )
