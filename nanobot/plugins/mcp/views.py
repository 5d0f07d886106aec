"""Views of MCP servers for people."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from nanobot.errors import UnknownId
from nanobot.plugins.mcp.pins import ServerReview
from nanobot.text import Sentence
from nanobot.tools.base import AnyTool


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server as shown to people."""

    name: str
    state: str
    """disabled, off (no gateway serves here), connecting, connected or failed."""
    tools: int
    waiting: int
    """The number of its tools that an owner has to accept."""
    where: str
    """Its command or URL."""
    error: Sentence
    """Why it failed."""


class Servers:
    """The servers of a configuration; without a subclass there are none."""

    def tools(self) -> list[AnyTool]:
        """The tools that find, call and read what servers offer. If a server is enabled they are
        there from the start, so that prompts do not change when it connects."""
        return []

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Keep them connected within this context; entering it does not wait for them."""
        return nullcontext()

    def views(self) -> list[ServerView]:
        """The state of each server, by name."""
        return []

    async def review(self, server: str) -> ServerReview:
        """The tools of one server that an owner has to accept. Raises UnknownId."""
        raise unknown_server(server)

    async def accept(self, server: str, code: str, by: str) -> int:
        """Accept the tools that the review with this code showed. Returns their number. Raises
        UnknownId, and UsageError if they have changed since."""
        raise unknown_server(server)


def unknown_server(name: str) -> UnknownId:
    """The error for a server that is not configured."""
    return UnknownId(f"there is no MCP server {name[:60]!r}; `mcp list` lists them")
