"""Builds the speaking service from the parts of a gateway."""

from __future__ import annotations

from nanobot.app.hosting import HostedChannels
from nanobot.bus.core import Bus
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.plugins.voice.speaking import Speaking
from nanobot.plugins.voice.speech import ProviderSpeech
from nanobot.plugins.voice.store import SqlVoiceAnswers
from nanobot.ports import Clock
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.workspace.received import Received


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

    def takes_files(channel: str) -> bool:
        host = channels.hosts.get(channel)
        return host is None or host.takes_files

    speaking = Speaking(
        SqlVoiceAnswers(store.database, store.writer),
        ProviderSpeech(models, settings),
        files,
        bus,
        clock,
        takes_files,
    )
    works.add("speaking", speaking.run)
