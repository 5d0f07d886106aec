"""The terminal as a chat: replies go to whoever is attached, and wait while nobody is."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from nanobot.errors import NobodyThere, OutcomeUnknown
from nanobot.messages import Address, Choice, OutboundKind, OutboundMessage
from nanobot.ports import Capabilities, Intake, OutboundPart


class TerminalMessage(msgspec.Struct, frozen=True):
    """A message as an attached client gets it; it answers with the key."""

    key: str
    kind: OutboundKind
    text: str
    choices: tuple[Choice, ...] = ()


class TerminalClient(Protocol):
    """Somebody attached."""

    def tell(self, shown: TerminalMessage) -> None:
        """Show a message, whether it is seen or not."""
        ...

    async def show(self, shown: TerminalMessage) -> bool:
        """Show a message. False: the client left before it said that it had."""
        ...


class Terminal:
    """The channel `cli`; see ports.Channel. Chats are session names such as `direct`."""

    capabilities = Capabilities(waits=True, buttons=True)

    def __init__(self) -> None:
        self._clients: dict[str, list[TerminalClient]] = {}

    def attach(self, chat_id: str, client: TerminalClient) -> None:
        """From now on messages of the chat go to this client too."""
        self._clients.setdefault(chat_id, []).append(client)

    def attended(self, chat_id: str) -> bool:
        """Whether somebody is attached to the chat."""
        return chat_id in self._clients

    def detach(self, chat_id: str, client: TerminalClient) -> None:
        clients = self._clients.get(chat_id, [])
        if client in clients:
            clients.remove(client)
        if not clients:
            self._clients.pop(chat_id, None)

    async def run(self, intake: Intake) -> None:
        """Nothing is polled: clients come by the control socket."""
        intake.alive()
        await asyncio.Event().wait()

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """One part, Markdown as it is; the client draws it."""
        text = message.text or "(empty message)"
        shown = TerminalMessage(message.key, message.kind, text, message.choices)
        return [OutboundPart(text=shown.text, payload=msgspec.json.encode(shown))]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Show a part to all who are attached; the last of them says that it was seen. Raises
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
        """A terminal that went away cannot tell."""
        return None

    async def typing(self, address: Address) -> None:
        """Clients watch the run itself."""

    async def close(self) -> None:
        """Nothing is held."""
