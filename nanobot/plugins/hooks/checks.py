"""Finds entries in `[hooks]` that are valid but cannot work."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config
from nanobot.messages import TERMINAL
from nanobot.operations.home import Finding
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.template import parse


def fits(config: Config) -> list[Finding]:
    """Like `wrong`, but prevents the start."""
    return [
        Finding(about="configuration", level="broken", text=sentence) for sentence in wrong(config)
    ]


def wrong(config: Config) -> list[str]:
    """Sentences that each begin with the key: invalid prompts, and chats of channels that are not
    configured.
    """
    mistakes = []
    hooks: Mapping[str, HookSettings] = config.tables.get("hooks", {})
    for name, hook in hooks.items():
        if not hook.enabled:
            continue
        try:
            parse(hook.prompt)
        except ValueError as error:
            mistakes.append(f"hooks.{name}.prompt: {error}")
        channel = hook.to.partition(":")[0]
        if channel and channel not in config.addressed:
            channels = ", ".join(sorted({*config.addressed} - {TERMINAL})) or "none"
            text = f'hooks.{name}.to: there is no channel "{channel}" that is on'
            mistakes.append(f"{text}; there are: {channels}")
    return mistakes
