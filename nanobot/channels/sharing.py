"""The port to the processes that share a store: which of them does what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nanobot.bus.core import Bus
from nanobot.channels.chat_leases import ChatLeases
from nanobot.ports import Channel


class Sharing:
    """This process alone uses the store, so it does everything. The plugin of a database that can
    be shared gives another one."""

    def chats(
        self, name: str, channel: Channel, bus: Bus, attended: Callable[[str], bool] | None
    ) -> ChatLeases:
        """The chats of a channel that this process sends to. `attended`: whether a client is
        attached here to the chat with that id; None: chats of this channel have no clients."""
        return ChatLeases(bus.journal)

    async def alone(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work in one of the processes at a time, until cancelled. `name`: in parentheses,
        as no channel is named."""
        await work()
