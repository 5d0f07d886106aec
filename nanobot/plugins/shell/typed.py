"""Whether a person typed a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.typed import Said


def is_typed(arguments: Mapping[str, Any], said: Said) -> bool:
    """Whether the message contains the whole command, and each host."""
    command = " ".join(str(arguments.get("command", "")).split())
    hosts = arguments.get("hosts") or ()
    text = f" {' '.join(said.text.replace('`', ' ').split())} "
    return bool(command) and f" {command} " in text and all(host in text for host in hosts)
