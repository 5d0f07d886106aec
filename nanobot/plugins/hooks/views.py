"""Views of hooks for people."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class WebhookView(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. `url` is the address for its sender; without a gateway only the path is known.
    `style` is the signature style, `to` the chat that gets the answers ("": none).
    """

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
    """The result of a test delivery: the status and text of the answer."""

    name: str
    url: str
    status: int
    answer: str
