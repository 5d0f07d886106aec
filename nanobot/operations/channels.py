"""Operations on the channels of the configuration."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import (
    ChannelTypeView,
    ChannelView,
    ConnectedChannel,
    MetPerson,
)
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now


@operation("channels list", reads=True, empty="`nanobot onboard` connects a chat.")
async def list_channels(context: OperationContext, _: Caller) -> list[ChannelView]:
    """List the configured channels and their state.

    The list has their access, and their grade on the quality scale.
    """
    return context.engine.home.channels()


def _types(types: list[ChannelTypeView], _: Now) -> str:
    return "\n\n".join(map(_type, types))


def _type(view: ChannelTypeView) -> str:
    """On a phone or a terminal: its name, which keys it wants, how one comes by them."""
    keys = [f"{field.key} (optional)" if field.optional else field.key for field in view.fields]
    title = f"{view.title} ({view.grade})" if view.grade else view.title
    head = f"`{view.name}` {title}: {view.broken or ', '.join(keys)}"
    return "\n".join(line for line in (head, view.steps, view.docs) if line)


@operation("channels types", reads=True, text=_types)
async def list_channel_types(context: OperationContext, _: Caller) -> list[ChannelTypeView]:
    """List the channel types and the settings that each needs."""
    return await context.engine.home.channel_types()


def _connected(channel: ConnectedChannel, _: Now) -> str:
    lacking = f" Still missing: {channel.lacking}." if channel.lacking else ""
    greeted = " The owner has received a message there." if channel.greeted else ""
    refused = f" The message to its owner failed: {channel.refused}" if channel.refused else ""
    saved = f"Saved in {channel.file}. Restart the gateway to use it (`restart`)."
    return f"{channel.name}: {channel.who} is ready.{lacking} {saved}{greeted}{refused}"


_Type = Annotated[
    Positional, Meta(description="The channel's type, or the name of a configured one.")
]
_Name = Annotated[str, Meta(description="A name, if it should differ from the type.")]
_Settings = Annotated[str, Meta(description="Its settings as KEY=VALUE, one per line.")]


@operation("channels connect", text=_connected, example="telegram settings=token=${TOKEN}")
async def connect_channel(  # noqa: PLR0913 - each is a word of the command
    context: OperationContext,
    caller: Caller,
    channel: _Type,
    *,
    name: _Name = "",
    settings: _Settings = "",
    owners: Annotated[str, Meta(description="The owners' ids, separated by commas.")] = "",
    greet: Annotated[bool, Meta(description="Send its owner a message that it is set up.")] = False,
    chat: Annotated[str, Meta(description="The owner's chat, as `channels meet` reports it.")] = "",
) -> ConnectedChannel:
    """Test a channel's credentials and save it.

    Secrets are saved in files of their own. `nanobot onboard` does the same with questions.
    """
    caller.at_this_machine("Connecting a channel")
    return await context.engine.home.connect(
        channel, name, _lines(settings), _ids(owners), chat if greet else None
    )


def _met(person: MetPerson, _: Now) -> str:
    return f"{person.name or 'Somebody'} (id {person.id}) wrote."


@operation("channels meet", text=_met, example="telegram settings=token=${TOKEN}")
async def meet_person(
    context: OperationContext,
    caller: Caller,
    channel: _Type,
    *,
    name: _Name = "",
    settings: _Settings = "",
    others: Annotated[str, Meta(description="Ignore messages from these ids.")] = "",
) -> MetPerson:
    """Wait one minute for a message and show the sender's id.

    The channel need not be connected yet. The message is still answered when the channel is served.
    """
    caller.at_this_machine("Connecting a channel")
    return await context.engine.home.meet(channel, name, _lines(settings), _ids(others))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _ids(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
