"""What a plugin of a package listens to, and the chats that it brings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.errors import ConfigError
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.views.plugins import views_of as plugin_views
from nanobot.providers.one_provider import OneProvider
from nanobot.seam.installed import installed
from nanobot.seam.plugin import resolved
from nanobot.testing.model import ScriptedProvider
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

RADIO = """
    from contextlib import asynccontextmanager

    from nanobot.app.hosting import ChannelStarter
    from nanobot.app.roles import Roles, Serving
    from nanobot.errors import ConfigError
    from nanobot.plugins.common.http.web_channel import WebChannel
    from nanobot.seam.plugin import Plugin

    SEEN = []


    @asynccontextmanager
    async def listening(roles: Roles, serving: Serving, starter: ChannelStarter):
        {listening}
        SEEN.append(f"listens, {{roles}}, {{'for channels' if serving.channels else 'alone'}}")
        yield
        SEEN.append("listens no more")


    def channels():
        channel = WebChannel()
        channel.shown.append(lambda address, shown: SEEN.append(f"{{address}}: {{shown.text}}"))
        return {{"{name}": channel, **{more}}}


    PLUGIN = Plugin(name="radio", summary="Radio.", listening=listening, channels=channels)
"""


def radio(listening: str = "pass", name: str = "radio", more: str = "{}") -> str:
    return RADIO.format(listening=listening, name=name, more=more)


def seen() -> list[str]:
    """What happened to it, in order."""
    namespace = resolved(installed().found["radio"].plugin.channels or "").__globals__
    happened: list[str] = namespace["SEEN"]
    return happened


@asynccontextmanager
async def serving(folder: Path, *, channels: bool = True) -> AsyncIterator[Parts]:
    (folder / "config.toml").write_text("[web]\nport = 0\n")
    environ = {"NANOBOT_HOME": str(folder)}
    program = Program(provider=OneProvider(ScriptedProvider()))
    gateway = Gateway(load(environ), environ, channels=channels, page=True, program=program)
    async with gateway.serving("a test", lambda _line: None) as parts:
        yield parts


def view(parts: Parts) -> tuple[str, str]:
    (found,) = [each for each in plugin_views(parts.plugged) if each.name == "radio"]
    return found.state, found.why


async def post(parts: Parts, chat: str, text: str) -> None:
    message = OutboundMessage(
        address=Address("radio", chat), text=text, kind=OutboundKind.POST, key=text
    )
    await parts.engine.journal.post(f"radio:{chat}", message)
    parts.engine.bus.owed(message.address)


async def test_it_listens_for_as_long_as_chats_are_served_and_has_chats_of_its_own(
    site: Site, tmp_path: Path
) -> None:
    site.bring("radio", radio())
    async with serving(tmp_path) as parts:
        assert seen() == ["listens, all, for channels"]
        await post(parts, "1", "over")
        for _ in range(500):
            if len(seen()) > 1:
                break
            await asyncio.sleep(0.01)
        assert seen()[1:] == ["radio:1: over"]
        assert parts.channels.states(parts.config.channels) == {}
    assert seen()[2:] == ["listens no more"]


async def test_it_knows_that_no_channels_are_served(site: Site, tmp_path: Path) -> None:
    site.bring("radio", radio())
    async with serving(tmp_path, channels=False):
        assert seen() == ["listens, all, alone"]


async def test_a_place_that_is_taken_hinders_the_start(site: Site, tmp_path: Path) -> None:
    site.bring("radio", radio("raise ConfigError('radio.port: 1 is taken')"))
    with pytest.raises(ConfigError, match="1 is taken"):
        async with serving(tmp_path):
            pass


async def test_any_other_failure_costs_only_itself(site: Site, tmp_path: Path) -> None:
    site.bring("radio", radio("raise ZeroDivisionError('static')"))
    async with serving(tmp_path) as parts:
        assert view(parts) == ("failed", "listening: ZeroDivisionError: static")
        assert parts.http.url


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (radio(name="cli"), "channels: the name cli is taken"),
        (radio(name="web"), "channels: the name web is taken"),
        (radio(more="{'other': 1}"), "channels: it opens a int, which lacks "),
    ],
)
async def test_a_chat_that_is_none_or_has_a_taken_name_is_left_out(
    code: str, why: str, site: Site, tmp_path: Path
) -> None:
    site.bring("radio", code)
    async with serving(tmp_path) as parts:
        state, said = view(parts)
        assert (state, said[: len(why)]) == ("failed", why)
        assert parts.http.url
