"""Operations on the channels of the configuration."""

from __future__ import annotations

from nanobot.operations.home import ChannelView
from nanobot.operations.operation import Caller, OperationContext, operation


@operation("channels list", reads=True, empty="`nanobot onboard` connects a chat.")
async def list_channels(context: OperationContext, _: Caller) -> list[ChannelView]:
    """List the configured channels and their state.

    The list has their access, and their grade on the quality scale.
    """
    return context.engine.home.channels()
