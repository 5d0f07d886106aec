"""Whether strangers can ask for access, and what an owner who is not known yet does."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.text import Sentence

_PAIRING = "pairing"
"""The plugin that lets them ask."""


def can_ask(config: Config) -> bool:
    """Whether they can, on channels whose settings let them."""
    return _PAIRING in switched(config).on


def nobody_yet(config: Config, channel: str) -> Sentence:
    """How the owner of a new channel gets access."""
    if can_ask(config):
        return (
            "No one has access yet. Start nanobot, write to the bot, and let yourself in with the "
            "code that it sends you: nanobot pair approve CODE --role owner"
        )
    return f"No one has access yet. Put your id into channels.{channel}.owners."
