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


@operation("channels list", reads=True, empty="`nanobot onboard` connects a chat.")
async def list_channels(context: OperationContext, _: Caller) -> list[ChannelView]:
    """List the configured channels, and how they are."""
    return context.engine.home.channels()


def _types(types: list[ChannelTypeView], _: float) -> str:
    return "\n\n".join(map(_type, types))


def _type(view: ChannelTypeView) -> str:
    """On a phone or a terminal: its name, which keys it wants, how one comes by them."""
    keys = [f"{field.key} (optional)" if field.optional else field.key for field in view.fields]
    head = f"`{view.name}` {view.title}: {view.broken or ', '.join(keys)}"
    return "\n".join(line for line in (head, view.steps, view.docs) if line)


@operation("channels types", reads=True, text=_types)
async def list_channel_types(context: OperationContext, _: Caller) -> list[ChannelTypeView]:
    """List the types of channels that can be connected, and what each needs."""
    return await context.engine.home.channel_types()


def _connected(channel: ConnectedChannel, _: float) -> str:
    lacking = f" But: {channel.lacking}." if channel.lacking else ""
    return (
        f"{channel.name}: {channel.who} is ready.{lacking} It is in {channel.file}, and served "
        "from the next start on (`restart`)."
    )


@operation("channels connect", text=_connected, example="telegram settings=token=${TOKEN}")
async def connect_channel(
    context: OperationContext,
    caller: Caller,
    channel: Annotated[Positional, Meta(description="Its type, or the name of a known one.")],
    *,
    name: Annotated[str, Meta(description="What to call it, if not as its type.")] = "",
    settings: Annotated[str, Meta(description="Its keys, as KEY=VALUE, one a line.")] = "",
    owners: Annotated[str, Meta(description="The ids of its owners, with commas.")] = "",
) -> ConnectedChannel:
    """Connect a channel: try it, and keep it if its platform lets it in."""
    caller.at_this_machine("Connecting a channel")
    pairs = [line.strip() for line in settings.splitlines() if line.strip()]
    ids = [owner.strip() for owner in owners.split(",") if owner.strip()]
    return await context.engine.home.connect(channel, name, pairs, ids)
