"""Hooks as people see them, and the port through which they try one."""

from __future__ import annotations

from typing import Protocol

import msgspec

from nanobot.errors import UnknownId


class WebhookView(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. `url` is where its sender delivers; without a gateway only the path is known.
    `style` is how it signs, `to` the chat that hears the answers ("": nobody does)."""

    name: str
    enabled: bool
    url: str
    style: str
    to: str
    session: str
    role: str
    events: tuple[str, ...]


class WebhookTest(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a delivery that was sent to try a hook: the answer's status, and its text."""

    name: str
    url: str
    status: int
    answer: str


class WebhookAdmin(Protocol):
    """The hooks of a gateway."""

    def views(self) -> list[WebhookView]:
        """All of them."""
        ...

    async def deliver(self, name: str, body: str, event: str) -> WebhookTest:
        """Send a signed delivery to the gateway's own door. Without a body it is an example. Raises
        UnknownId for a hook that is not there, UsageError where nothing is served."""
        ...


class NoWebhooks:
    """The WebhookAdmin of a gateway without any."""

    def views(self) -> list[WebhookView]:
        return []

    async def deliver(self, name: str, body: str, event: str) -> WebhookTest:
        """Raises UnknownId."""
        raise UnknownId(f"there is no hook {name[:60]!r}")
