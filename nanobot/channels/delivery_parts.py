"""Dependencies that the deliveries to all chats of a channel share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from nanobot.channels.ages import Ages
from nanobot.channels.chat_leases import ChatLeases
from nanobot.channels.moved_chats import MovedChats
from nanobot.channels.outage import Outage
from nanobot.channels.sender import PartSender
from nanobot.messages import OutboundMessage
from nanobot.ports import Clock
from nanobot.retries import Backoff
from nanobot.session.journal import Journal


class DeliveryParts(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies shared by all chats of a channel."""

    sender: PartSender
    journal: Journal
    clock: Clock
    moved: MovedChats
    ages: Ages
    outage: Outage
    release_preview: Callable[[str], Awaitable[None]]
    may_depart: Callable[[OutboundMessage], bool]
    backoff: Backoff
    doubtful_backoff: Backoff
    leases: ChatLeases
