"""What the plugin offers, on or off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.channels.reception import InOrder
from nanobot.plugins.common.catching_up import CatchingUp


def always_objects() -> Mapping[Any, Any]:
    """What puts missed and live messages in order, for channels with a history."""
    return {InOrder: CatchingUp}
