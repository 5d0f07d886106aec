"""Views of MCP servers for people."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

import msgspec


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server as shown to people. `state`: disabled, off (no gateway serves here), connecting,
    connected or failed; `error` is the reason. `where` is its command or URL.
    """

    name: str
    state: str
    tools: int
    where: str
    error: str


class Servers(Protocol):
    """The servers of a configuration."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Keep them connected within this context; entering it waits for none of them."""
        ...

    def views(self) -> list[ServerView]:
        """The state of each server, by name."""
        ...


class NoServers:
    """Used if no server is configured."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def views(self) -> list[ServerView]:
        return []
