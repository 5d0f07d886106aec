"""What attackers could reach, as people are told."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from nanobot.text import Sentence

Attacker: TypeAlias = Literal[
    "stranger", "guest", "member", "web page", "MCP server", "other user of the machine"
]
Level: TypeAlias = Literal["ok", "note", "risk", "danger"]


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of attacker can reach in this configuration, the severity, and the remedy. ok:
    nothing to do; note: intended; risk: more than most people want; danger: a way to take over or
    to take data away."""

    attacker: Attacker
    level: Level
    reaches: Sentence
    remedy: Sentence = ""
