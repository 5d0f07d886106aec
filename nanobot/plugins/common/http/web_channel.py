"""The page as a chat: it reads the log, so a sent message counts as arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from nanobot.messages import Address, Attachment, Choice, OutboundKind, OutboundMessage
from nanobot.ports import Capabilities, Intake, OutboundPart


class WebMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as the page shows it. `choices`: the person's possible answers. A reply repeats
    text from the log."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class WebChannel:
    """The channel `web`; see ports.Channel. Each message goes to the functions `shown`, with its
    address."""

    capabilities = Capabilities(waits=True, buttons=True)

    def __init__(self) -> None:
        self.shown: list[Callable[[Address, WebMessage], None]] = []

    async def run(self, intake: Intake) -> None:
        """Polls nothing: people connect by HTTP."""
        intake.alive()
        await asyncio.Event().wait()

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """One part with unchanged Markdown; the page draws it."""
        text = message.text or "(empty message)"
        shown = WebMessage(
            key=message.key,
            kind=message.kind,
            text=text,
            choices=message.choices,
            attachments=message.attachments,
        )
        return [OutboundPart(text=text, payload=msgspec.json.encode(shown))]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Show a part on open pages; pages opened later read it from the log."""
        shown = WebMessage(key=part.key, kind=OutboundKind.NOTICE, text=part.text)
        if part.payload and not plain:
            shown = msgspec.json.decode(part.payload, type=WebMessage)
        for show in self.shown:
            show(address, shown)
        return shown.key

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """Showing it again does no harm."""
        return None

    async def typing(self, address: Address) -> None:
        """Pages watch the run itself."""

    async def close(self) -> None:
        """Has nothing to close."""
