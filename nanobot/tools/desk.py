"""Where a tool call keeps files, and puts what it sends to its chat."""

from __future__ import annotations

import mimetypes
from typing import Protocol

from nanobot.errors import StoreUnwritable, ToolError
from nanobot.messages import Attachment, OutboundKind, OutboundMessage
from nanobot.text import clean
from nanobot.tools.base import CallContext, Effect

MAX_BYTES = 50 * 1024 * 1024


class Keeper(Protocol):
    """Where files are kept by their content; see workspace.blobs."""

    async def write(self, content: bytes) -> str:
        """Keep it; returns its digest. Raises StoreUnwritable."""
        ...


class CallDesk:
    """See base.Desk: for one call. What it sends is committed under the identity of the call, so a
    call that is made again after a crash sends nothing twice."""

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
