"""The promised import path of the MessageBus; it lives over the store."""

from __future__ import annotations

from nanobot.store.message_bus import MessageBus as MessageBus
