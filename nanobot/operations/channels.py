"""Operations on the channels of the configuration."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import (
    ChannelTypeView,
    ChannelView,
    ConnectedChannel,
)
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional


@operation("channels list", reads=True)
async def list_channels(context: OperationContext, _: Caller) -> list[ChannelView]:
    """Lists the configured channels, and how they are."""
    return context.engine.home.channels()


@operation("channels types", reads=True)
async def list_channel_types(context: OperationContext, _: Caller) -> list[ChannelTypeView]:
    """Lists the types of channels that can be connected, and what each needs."""
    return await context.engine.home.channel_types()


def _connected(channel: ConnectedChannel, _: float) -> str:
    lacking = f" But: {channel.lacking}." if channel.lacking else ""
    return (
        f"{channel.name}: {channel.who} is ready.{lacking} It is in {channel.file}, and served "
        "from the next start on (`restart`)."
    )


@operation("channels connect", text=_connected, example="telegram settings=token=${TELEGRAM_TOKEN}")
async def connect_channel(
    context: OperationContext,
    caller: Caller,
    channel: Annotated[Positional, Meta(description="Its type, or the name of a known one.")],
    *,
    name: Annotated[str, Meta(description="What to call it, if not as its type.")] = "",
    settings: Annotated[str, Meta(description="Its keys, as KEY=VALUE, one a line.")] = "",
    owners: Annotated[str, Meta(description="The ids of its owners, with commas.")] = "",
) -> ConnectedChannel:
    """Connects a channel: tries it, and keeps it if its platform lets it in."""
    caller.at_this_machine("Connecting a channel")
    pairs = [line.strip() for line in settings.splitlines() if line.strip()]
    ids = [owner.strip() for owner in owners.split(",") if owner.strip()]
    return await context.engine.home.connect(channel, name, pairs, ids)
