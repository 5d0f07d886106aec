"""Matrix over a homeserver's client-server API."""

from nanobot_channels.matrix.channel import (
    BACKFILL,
    SETUP,
    MatrixChannel,
    open_channel,
)

__all__ = [
    "BACKFILL",
    "SETUP",
    "MatrixChannel",
    "open_channel",
]
