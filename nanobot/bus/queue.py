"""The public import path of the MessageBus, which is implemented over the store."""

from __future__ import annotations

from nanobot.store.message_bus import MessageBus as MessageBus
