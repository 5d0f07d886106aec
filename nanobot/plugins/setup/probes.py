"""Tests before settings are saved: one tiny call to a model, one to a channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence, Set

from nanobot.channels.live_only import LiveOnly
from nanobot.channels.loading import open_channel
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.config.settings.agent import ProviderSettings
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import ChannelDown, ModelUnreachable, StoreUnwritable
from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.models.known_models import abilities
from nanobot.plugins.setup.views import TriedModel
from nanobot.ports import CatchUp, Checked, History, Receiving, SelfChecking
from nanobot.providers.base import ChatMessage, ModelRequest, Retrying
from nanobot.providers.clients import Clients
from nanobot.providers.model_choice import EMBEDDED
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.http import Http
from nanobot.system import SystemClock

_MODEL_SECONDS = 90.0
_CHANNEL_SECONDS = 20.0
_QUESTION = ChatMessage(role="user", content="Answer with the one word: ready")
# A model that thinks first needs some room before its answer.
_MAX_TOKENS = 256


async def try_model(
    model: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    config: Config,
) -> TriedModel:
    """One real call, without the patience of a run: the first failure counts. `config` tells the
    home, and which plugins are on.

    Raises ConfigError, ModelError, or StoreUnwritable for a home that cannot be made.
    """
    home, clients = config.home, Clients(which=switched(config))
    try:
        await asyncio.to_thread(home.mkdir, 0o700, parents=True, exist_ok=True)  # for its log
    except OSError as error:
        raise StoreUnwritable(f"{home} cannot be made ({error.strerror})") from error
    registry = ProviderRegistry(model, providers, environ, home, SystemClock(), clients)
    try:
        choice = await registry.choice()
        provider, profile = await registry.pick()
        request = ModelRequest(model=profile.name, messages=(_QUESTION,), max_tokens=_MAX_TOKENS)
        began = time.monotonic()
        patient = choice.provider_name == EMBEDDED
        async with asyncio.timeout(_MODEL_SECONDS):
            async for delta in provider.chat_stream(request):
                if isinstance(delta, Retrying) and not patient:
                    raise ModelUnreachable(f"{profile.label}: {delta.why}")
        return TriedModel(
            name=profile.label,
            seconds=time.monotonic() - began,
            abilities=abilities(profile),
            priced=profile.price is not None,
        )
    except TimeoutError:
        raise ModelUnreachable(f"no answer within {_MODEL_SECONDS:.0f} s") from None
    finally:
        await registry.close()


def receives(config: Config) -> bool:
    """Whether a gateway serves HTTP."""
    return "http" in switched(config).on


async def try_channel(
    name: str,
    settings: ChannelSettings,
    config: Config | None = None,
) -> Checked | None:
    """The channel's identity on its platform; None if it cannot be checked without running it.
    `config` says whether and where requests of its platform are received.

    Raises ConfigError, PluginBroken, BadCredentials or ChannelDown.
    """
    channel = open_channel(name, settings)
    received = config is None or receives(config) or not isinstance(channel, Receiving)
    if isinstance(channel, Receiving) and received:
        channel.reached_at(config.of(WebSettings).channel_url(name) if config else "")
    try:
        if not isinstance(channel, SelfChecking):
            return None
        async with asyncio.timeout(_CHANNEL_SECONDS):
            checked = await channel.check()
        who = checked if isinstance(checked, Checked) else Checked(checked)
        return who if received else Checked(who.who, Http.lacks)
    except TimeoutError:
        raise ChannelDown(f"no answer within {_CHANNEL_SECONDS:.0f} s") from None
    finally:
        await channel.close()


class _Met(Exception):
    """A person wrote. Raised out of the intake, so that the message is not acknowledged: the
    gateway gets it again and answers it."""

    def __init__(self, message: InboundMessage) -> None:
        super().__init__(message.sender.id)
        self.message = message


class _Doorkeeper:
    """An intake that admits nothing and reports the first sender who is not among `known`."""

    def __init__(self, ignored: Set[str]) -> None:
        self._ignored = ignored

    async def account(self, identity: str) -> None:
        pass  # nothing is stored

    async def cursor(self) -> str | None:
        return None

    async def chats(self) -> list[Address]:
        return []

    async def admit(self, messages: Sequence[InboundMessage], cursor: str | None = None) -> None:
        for message in messages:
            if message.sender.id not in self._ignored and (message.addressed or not message.group):
                raise _Met(message)

    def in_order(self, history: History) -> CatchUp:
        return LiveOnly(self, history)

    async def moved(self, old_chat_id: str, new_chat_id: str) -> None:
        pass  # a send to the old id gets the new one

    def alive(self) -> None:
        pass


async def first_message(
    name: str, settings: ChannelSettings, seconds: float, ignored: Set[str] = frozenset()
) -> InboundMessage | None:
    """The first message to the channel, except from known people; None if none comes in that time.
    It is not acknowledged. Raises ConfigError, PluginBroken, BadCredentials or ChannelDown."""
    channel = open_channel(name, settings)
    try:
        async with asyncio.timeout(seconds):
            await channel.run(_Doorkeeper(ignored))
    except _Met as met:
        return met.message
    except TimeoutError:
        pass
    finally:
        await channel.close()
    return None


async def tell(name: str, settings: ChannelSettings, address: Address, text: str) -> None:
    """Send a text to a chat of the channel, at once. Raises ConfigError, PluginBroken,
    BadCredentials or DeliveryError, also if no reply comes in time."""
    channel = open_channel(name, settings)
    message = OutboundMessage(address=address, text=text, key=f"greeting:{address}")
    try:
        async with asyncio.timeout(_CHANNEL_SECONDS):
            for part in channel.render(message):
                await channel.send(address, part)
    except TimeoutError:
        raise ChannelDown(f"no answer within {_CHANNEL_SECONDS:.0f} s") from None
    finally:
        await channel.close()
