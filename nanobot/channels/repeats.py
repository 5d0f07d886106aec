"""How messages that may be repeats are marked."""

from __future__ import annotations

import msgspec

from nanobot.messages import OutboundKind, OutboundMessage
from nanobot.ports import Capabilities

REPEAT_LINE = "(This may be a repeat: I could not tell whether it had arrived.)"

_ONE_MESSAGE = 1_500


def marked(message: OutboundMessage) -> OutboundMessage:
    """The message with a last line that says it may be a repeat."""
    text = f"{message.text}\n\n{REPEAT_LINE}"
    own = message.own
    if own is not None or message.kind is not OutboundKind.NOTICE:
        own = (*(own or ()), (len(message.text), len(text)))
    return msgspec.structs.replace(message, text=text, own=own)


def perhaps_several(message: OutboundMessage, can: Capabilities) -> bool:
    """Whether one of its parts may be several messages; if so, nothing is looked up."""
    return len(message.text) > _ONE_MESSAGE and not can.reconciles
