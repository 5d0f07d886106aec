"""Hooks as people see them."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class WebhookView(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. `url` is where its sender delivers; without a gateway only the path is known.
    `style` is how it signs, `to` the chat that hears the answers ("": nobody does)."""

    SHOWN: ClassVar[tuple[str, ...]] = ("name", "enabled", "url", "to", "style")

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
