"""MCP servers as people see them."""

from __future__ import annotations

import msgspec


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server as people see it. `state`: disabled, off (nothing is served here), connecting,
    connected or failed; `error` is why. `where` is its command or URL."""

    name: str
    state: str
    tools: int
    where: str
    error: str
