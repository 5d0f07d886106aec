"""What plugins do for a channel: one that fails has no effect on its channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
import pytest

from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.host import Hosting
from nanobot.messages import OutboundMessage
from nanobot.supervision import Work
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.platform import FakePlatform

HOOKS = [name for name in vars(Companion) if not name.startswith("_")]


def failing(hook: str) -> Companion:
    """A companion of which one function fails, whatever it is given."""

    def fail(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(hook)

    async def later(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(hook)

    awaited = hook in ("release", "rest")
    made: Companion = type("Failing", (Companion,), {hook: later if awaited else fail})()
    return made


class Signing(Companion):
    """Adds a line to every message, and counts what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def shaped(self, message: OutboundMessage) -> OutboundMessage:
        return msgspec.structs.replace(message, text=f"{message.text}!")

    def up(self) -> None:
        self.heard.append("up")

    def speaking(self) -> Mapping[str, Work]:
        self.heard.append("speaking")
        return {}


@pytest.mark.parametrize("hook", HOOKS)
async def test_one_that_fails_hinders_neither_its_channel_nor_the_others(hook: str) -> None:
    signing = Signing()

    def companions(_: ChannelParts) -> list[Companion]:
        return [failing(hook), signing]

    options = Options(hosting=Hosting(companions=companions))
    async with gateway(channel=FakePlatform(), options=options) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello!"
        await bot.host.flush(1)
    assert signing.heard == ["speaking", "up"]
