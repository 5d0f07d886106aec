"""The parts of a gateway."""

from __future__ import annotations

import msgspec

from nanobot.agent.service.run_service import RunService
from nanobot.agent.worker import Worker
from nanobot.app.hosting import ChannelStarter, HostedChannels
from nanobot.app.live_settings import LiveSettings
from nanobot.app.moments import Moments
from nanobot.app.peers import OtherProcesses
from nanobot.app.plugged import Plugged
from nanobot.app.scheduler import Scheduler
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.engine import Engine
from nanobot.providers.registry import ProviderRegistry
from nanobot.server.http import HttpService
from nanobot.workspace.received import Received


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a gateway, built but not started."""

    engine: Engine
    operations: Dispatcher
    run_service: RunService
    worker: Worker
    models: ProviderRegistry
    received: Received
    http: HttpService
    channels: HostedChannels
    starter: ChannelStarter
    scheduler: Scheduler
    peers: OtherProcesses
    live: LiveSettings
    plugged: Plugged
    moments: Moments
