"""What the gateway says of itself, for operations and other plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.app.hosting import HostedChannels
from nanobot.app.plugged import Plugged
from nanobot.app.roles import Roles
from nanobot.config.loader import Config
from nanobot.plugins.common.gateway_facts import GatewayFacts


def always_objects(
    config: Config, channels: HostedChannels, roles: Roles, plugged: Plugged
) -> Mapping[Any, Any]:
    """Those facts, on or off."""
    return {GatewayFacts: GatewayFacts(config, channels, roles, plugged.offers)}
