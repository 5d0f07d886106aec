"""The terminal as a chat: messages go to attached clients, and wait while there is none."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from nanobot.errors import NobodyThere, OutcomeUnknown
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot.ports import Capabilities, Intake, OutboundPart


class TerminalMessage(msgspec.Struct, frozen=True):
    """A message for an attached client, which acknowledges the key."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()


class TerminalClient(Protocol):
    """An attached client."""

    def tell(self, shown: TerminalMessage) -> None:
        """Show a message without waiting for an acknowledgement."""

    async def show(self, shown: TerminalMessage) -> bool:
        """Show a message. False: the client left before it acknowledged it."""


class Terminal:
    """The channel `cli`; see ports.Channel. Chats are session names such as `direct`."""

    capabilities = Capabilities(waits=True, buttons=True)

    def __init__(self) -> None:
        self._clients: dict[str, list[TerminalClient]] = {}

    def attach(self, chat_id: str, client: TerminalClient) -> None:
        """Send the chat's messages to this client too, from now on."""
        self._clients.setdefault(chat_id, []).append(client)

    def attended(self, chat_id: str) -> bool:
        """Whether a client is attached to the chat."""
        return chat_id in self._clients

    def detach(self, chat_id: str, client: TerminalClient) -> None:
        clients = self._clients.get(chat_id, [])
        if client in clients:
            clients.remove(client)
        if not clients:
            self._clients.pop(chat_id, None)

    async def run(self, intake: Intake) -> None:
        """Polls nothing: clients connect through the control socket."""
        intake.alive()
        await asyncio.Event().wait()

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """One part with unchanged Markdown; the client draws it."""
        text = message.text or "(empty message)"
        shown = TerminalMessage(message.key, message.kind, text, message.choices)
        return [OutboundPart(text=shown.text, payload=msgspec.json.encode(shown))]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Show a part to all attached clients; the last one's acknowledgement counts. Raises
        NobodyThere or OutcomeUnknown."""
        clients = self._clients.get(address.chat_id)
        if not clients:
            raise NobodyThere(f"waits for `nanobot agent --session {address.chat_id}`")
        shown = TerminalMessage(part.key, OutboundKind.NOTICE, part.text)
        if part.payload and not plain:
            shown = msgspec.json.decode(part.payload, type=TerminalMessage)
        *others, last = clients
        for client in others:
            client.tell(shown)
        if not await last.show(shown):
            raise OutcomeUnknown("the terminal went away while it was being shown")
        return shown.key

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """A terminal that left cannot be asked."""
        return None

    async def typing(self, address: Address) -> None:
        """Clients watch the run itself."""

    async def close(self) -> None:
        """Has nothing to close."""
