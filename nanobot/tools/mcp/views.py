"""Views of MCP servers for people."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

import msgspec

from nanobot.errors import UnknownId
from nanobot.text import Sentence
from nanobot.tools.mcp.pins import ServerReview


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server as shown to people. `state`: disabled, off (no gateway serves here), connecting,
    connected or failed; `error` is the reason. `where` is its command or URL. `waiting`: the number
    of its tools that an owner has to accept.
    """

    name: str
    state: str
    tools: int
    waiting: int
    where: str
    error: Sentence


class Servers(Protocol):
    """The servers of a configuration."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Keep them connected within this context; entering it does not wait for them."""
        ...

    def views(self) -> list[ServerView]:
        """The state of each server, by name."""
        ...

    async def review(self, server: str) -> ServerReview:
        """The tools of one server that an owner has to accept. Raises UnknownId."""
        ...

    async def accept(self, server: str, code: str, by: str) -> int:
        """Accept the tools that the review with this code showed. Returns their number. Raises
        UnknownId, and UsageError if they have changed since."""
        ...


class NoServers:
    """Used if no server is configured."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def views(self) -> list[ServerView]:
        return []

    async def review(self, server: str) -> ServerReview:
        raise unknown_server(server)

    async def accept(self, server: str, code: str, by: str) -> int:
        raise unknown_server(server)


def unknown_server(name: str) -> UnknownId:
    """The error for a server that is not configured."""
    return UnknownId(f"there is no MCP server {name[:60]!r}; `mcp list` lists them")
