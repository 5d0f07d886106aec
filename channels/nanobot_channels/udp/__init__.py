"""UDP on loopback, for daemons and scripts of this machine."""

from nanobot_channels.udp.channel import (
    MAX_BYTES,
    PIECE,
    SETUP,
    UdpChannel,
    open_channel,
)

__all__ = [
    "MAX_BYTES",
    "PIECE",
    "SETUP",
    "UdpChannel",
    "open_channel",
]
