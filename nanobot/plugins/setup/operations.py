"""The operations of set-up: channels, models to try, and what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from nanobot.app.live_settings import LiveSettings
from nanobot.operations.home import Finding
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.faces import GRADES
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.setup.views import (
    ChannelTypeView,
    ChannelView,
    ConnectedChannel,
    FoundModel,
    MetPerson,
    PersonaView,
    ProviderView,
    TriedModel,
)
from nanobot.seam.installed import provided
from nanobot.seam.offers import Environment
from nanobot.text import Sentence

# Modules imported within the functions load more than `nanobot --help` needs.


def _types(types: list[ChannelTypeView], _: Now) -> Sentence:
    return "\n\n".join(map(_type, types))


def _type(view: ChannelTypeView) -> str:
    """On a phone or a terminal: its name, which keys it wants, how one comes by them."""
    keys = [f"{field.key} (optional)" if field.optional else field.key for field in view.fields]
    title = f"{view.title} ({view.grade})" if view.grade else view.title
    head = f"`{view.name}` {title}: {view.broken or ', '.join(keys)}"
    return "\n".join(line for line in (head, view.steps, view.docs) if line)


@operation("channels list", reads=True, empty="`nanobot onboard` connects a chat.")
async def list_channels(context: OperationContext, _: Caller) -> list[ChannelView]:
    """List the configured channels and their state.

    The list has their access, and their grade on the quality scale.
    """
    facts, channels = context.of(GatewayFacts).now(), context.of(LiveSettings).config.channels
    graded, kinds = provided(GRADES), {name: its.type or name for name, its in channels.items()}
    grades: Mapping[str, str] = {} if graded is None else graded(kinds.values())
    return [
        ChannelView(
            name=name,
            type=kinds[name],
            state=facts.channels.get(name, "off"),
            enabled=settings.enabled,
            owners=[str(owner) for owner in settings.owners],
            members=[str(member) for member in settings.members],
            grade=grades.get(kinds[name], ""),
            lacks=facts.lacks.get(name, ""),
        )
        for name, settings in channels.items()
    ]


@operation("channels types", reads=True, text=_types)
async def list_channel_types(context: OperationContext, _: Caller) -> list[ChannelTypeView]:
    """List the channel types and the settings that each needs."""
    from nanobot.plugins.setup.new_channel import channel_types  # noqa: PLC0415

    return await asyncio.to_thread(channel_types, context.of(Environment))


def _connected(channel: ConnectedChannel, _: Now) -> Sentence:
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

    Secrets are saved in separate files. `nanobot onboard` does the same with questions.
    """
    caller.at_this_machine("Connecting a channel")
    from nanobot.plugins.setup.connecting import connect  # noqa: PLC0415

    place = chat if greet else None
    return await connect(context, channel, name, _lines(settings), _ids(owners), place)


def _met(person: MetPerson, _: Now) -> Sentence:
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
    from nanobot.plugins.setup.connecting import meet  # noqa: PLC0415

    return await meet(context, channel, name, _lines(settings), _ids(others))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _ids(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _tried_text(tried: TriedModel, _: Now) -> Sentence:
    return f"{tried.name} answered after {tried.seconds:.1f} s ({tried.abilities})."


@operation("models try", text=_tried_text, example="openai/gpt-6-luna")
async def try_model(
    context: OperationContext,
    caller: Caller,
    name: Annotated[Positional, Meta(description="The model, as PROVIDER/MODEL.")] = "",
    *,
    key: Annotated[str, Meta(description="Use this key for the test only.")] = "",
    api_base: Annotated[str, Meta(description="Use this base URL for the test only.")] = "",
) -> TriedModel:
    """Test that a model answers."""
    if key or api_base:
        caller.at_this_machine("Another key or address")
    from nanobot.plugins.setup.models import tried  # noqa: PLC0415

    return await tried(context.of(Environment), name, key, api_base)


@operation("models providers", reads=True)
async def list_providers(context: OperationContext, caller: Caller) -> list[ProviderView]:
    """List the known providers and whether each has a key."""
    caller.at_this_machine("The configuration")
    from nanobot.plugins.setup.models import providers  # noqa: PLC0415

    return providers(context.of(Environment))


def _found_text(models: list[FoundModel], _: Now) -> Sentence:
    return "\n".join(f"`{model.name}` {model.why}" for model in models)


@operation("models found", reads=True, text=_found_text)
async def list_found(context: OperationContext, caller: Caller) -> list[FoundModel]:
    """List the usable models: with a key, on this machine, or included."""
    caller.at_this_machine("The configuration")
    from nanobot.plugins.setup.models import found  # noqa: PLC0415

    return await found(context.of(Environment))


@operation("personas list", reads=True)
async def list_personas(context: OperationContext, _: Caller) -> list[PersonaView]:
    """List the personas; `agent.persona` selects one."""
    from nanobot.plugins.setup.persona_choice import persona_views  # noqa: PLC0415

    return persona_views(context.of(Environment))


def _findings_text(findings: list[Finding], _: Now) -> Sentence:
    return "\n".join(f"- {one.level}: {one.about}: {one.sentences}" for one in findings)


@operation(
    "doctor",
    text=_findings_text,
    own_command=True,
    failed=lambda findings: any(finding.level == "broken" for finding in findings),
)
async def examine(
    context: OperationContext,
    caller: Caller,
    *,
    fix: Annotated[bool, Meta(description="Fix what can be fixed automatically.")] = False,
) -> list[Finding]:
    """Check the installation and explain how to fix problems."""
    caller.at_this_machine("The doctor")
    environ = context.of(Environment)

    def examined() -> list[Finding]:
        # Includes the imports, which take most of a first examination.
        from nanobot.plugins.setup.doctor.checks import every_finding  # noqa: PLC0415

        return asyncio.run(every_finding(environ, fix=fix))

    # On a separate thread and loop, because much of it waits for the disk.
    return await asyncio.to_thread(examined)


def operations() -> list[Operation]:
    """All operations, in the order of the help."""
    return [
        list_channels,
        list_channel_types,
        connect_channel,
        meet_person,
        try_model,
        list_providers,
        list_found,
        list_personas,
        examine,
    ]
