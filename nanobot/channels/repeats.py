"""How messages that may be repeats are marked."""

from __future__ import annotations

import msgspec

from nanobot.messages import OutboundMessage
from nanobot.ports import Capabilities

REPEAT_LINE = "(This may be a repeat: I could not tell whether it had arrived.)"

_ONE_MESSAGE = 1_500


def marked(message: OutboundMessage) -> OutboundMessage:
    """The message with a last line that says it may be a repeat."""
    return msgspec.structs.replace(message, text=f"{message.text}\n\n{REPEAT_LINE}")


def perhaps_several(message: OutboundMessage, can: Capabilities) -> bool:
    """Whether one of its parts may be several messages; if so, nothing is looked up."""
    return len(message.text) > _ONE_MESSAGE and not can.reconciles
