"""MCP servers as people see them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

import msgspec


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server as people see it. `state`: disabled, off (nothing is served here), connecting,
    connected or failed; `error` is why. `where` is its command or URL."""

    name: str
    state: str
    tools: int
    where: str
    error: str


class Servers(Protocol):
    """The servers of a configuration."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """They are kept connected within; nobody waits for one."""
        ...

    def views(self) -> list[ServerView]:
        """How each is, by name."""
        ...


class NoServers:
    """Where none is configured."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def views(self) -> list[ServerView]:
        return []
