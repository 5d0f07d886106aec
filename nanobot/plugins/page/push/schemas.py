"""What browsers and the gateway tell each other about notifications."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.plugins.page.push.message import PushKeys


class PushKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this gateway, with which a browser subscribes (applicationServerKey)."""

    key: str


class NewSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription as a browser's PushSubscription has it: where its push service takes messages,
    and the keys to encrypt them."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]
    keys: PushKeys


class EndedSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """Which subscription ends."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=2_000)]
