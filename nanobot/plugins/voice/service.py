"""Builds the speaking service from the parts of a gateway."""

from __future__ import annotations

from msgspec.structs import replace

from nanobot.app.hosting import HostedChannels
from nanobot.bus.core import Bus
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.plugins.voice.speaking import Speaking
from nanobot.plugins.voice.store import SqlVoiceAnswers
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.workspace.received import Received


class ProviderSpeech:
    """Speaks with one model and one voice; see speaking.Speech."""

    def __init__(self, registry: ProviderRegistry, settings: VoiceSettings) -> None:
        self.max_characters = settings.max_characters
        self._registry = registry
        self._label = settings.model
        self._voice = settings.voice

    async def profile(self) -> ModelProfile:
        """The model's profile; a token of its price is a character. Raises ModelError or
        ConfigError.
        """
        _, profile = await self._registry.pick(self._label)
        return replace(profile, price=await self._registry.speech_price(self._label))

    async def speak(self, text: str) -> bytes:
        """Convert the text to sound. Raises ModelError or ConfigError."""
        return await self._registry.speak(self._label, text, self._voice)


def start(  # noqa: PLR0913 - each is asked for by its type
    settings: VoiceSettings,
    works: Works,
    store: Store,
    models: ProviderRegistry,
    files: Received,
    bus: Bus,
    clock: Clock,
    channels: HostedChannels,
) -> None:
    """Speak answers while the gateway serves."""
    speaking = Speaking(
        SqlVoiceAnswers(store.database, store.writer),
        ProviderSpeech(models, settings),
        files,
        bus,
        clock,
        channels.takes_files,
    )
    works.add("speaking", speaking.run)
