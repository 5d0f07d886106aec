"""The parts of a gateway."""

from __future__ import annotations

import msgspec

from nanobot.agent.worker import Worker
from nanobot.app.hosting import ChannelStarter, HostedChannels
from nanobot.app.live_settings import LiveSettings
from nanobot.app.plugged import Plugged
from nanobot.app.plugin_calls import Moments
from nanobot.bus.peers import Peers
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.engine import Engine
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.faces import Http
from nanobot.store.quarantine.guard import Guard
from nanobot.supervision import Work
from nanobot.workspace.received import Received


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a gateway, built but not started. `one_process`: what one of the processes
    over a store does at a time."""

    guard: Guard
    engine: Engine
    operations: Dispatcher
    worker: Worker
    models: ProviderRegistry
    received: Received
    http: Http
    channels: HostedChannels
    starter: ChannelStarter
    one_process: Work
    peers: Peers
    live: LiveSettings
    plugged: Plugged
    moments: Moments
