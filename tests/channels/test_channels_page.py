"""The page about all channels says what the adapters can do."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nanobot.channels.loading import open_channel
from nanobot.channels.repeats import REPEAT_LINE
from nanobot.config.settings.channels import ChannelSettings
from nanobot.ports import (
    Capabilities,
    Commanding,
    Confiding,
    Editing,
    Fetching,
    Filing,
    Rate,
    Reacting,
    SelfChecking,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "channels.md").read_text("utf-8")
SETTINGS: dict[str, dict[str, object]] = {
    "telegram": {"token": "123456:loopback"},
    "discord": {"token": "loopback"},
    "slack": {"bot_token": "xoxb-1-loopback", "app_token": "xapp-1-loopback"},
    "matrix": {"homeserver": "http://127.0.0.1:9", "access_token": "loopback"},
    "udp": {"token": "long enough"},
    "email": {
        "imap_host": "localhost",
        "smtp_host": "localhost",
        "user": "bot@example.org",
        "password": "p",
        "trusted_authserv": ["mx.example.org"],
    },
    "mattermost": {"url": "http://127.0.0.1:9", "token": "t" * 26},
    "whatsapp": {
        "phone_number_id": "106540352242922",
        "access_token": "E" * 30,
        "app_secret": "0" * 32,
        "verify_token": "made up earlier".replace(" ", "-"),
    },
}
ABLE: dict[str, tuple[type, ...]] = {
    "Shows answers while it writes them": (Editing,),
    "Files from you and to you": (Fetching, Filing),
    "Reactions, with `marks = true`": (Reacting,),
    "Commands in the platform's menu": (Commanding,),
    "Private notes to one person in a group": (Confiding,),
    "`nanobot doctor` tries the account": (SelfChecking,),
}


def entry_points() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entry_points: dict[str, str] = project["entry-points"]["nanobot.channels"]
    return entry_points


def table() -> dict[str, list[str]]:
    rows = re.findall(r"^\| ([^|-].*?) \| (.*) \|$", PAGE, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in rows}


def column(kind: str) -> dict[str, str]:
    """What the page says of one kind of channel."""
    place = table()["`type`"].index(f"`{kind}`")
    return {name: cells[place] for name, cells in table().items()}


async def opened(kind: str) -> Any:
    module, _, function = entry_points()[kind].partition(":")
    channel = getattr(import_module(module), function)(kind, SETTINGS[kind])
    await channel.close()
    return channel


@pytest.mark.parametrize("kind", SETTINGS)
async def test_every_channel_takes_the_keys_that_all_have(kind: str) -> None:
    channel = open_channel(kind, ChannelSettings(type=kind, settings=SETTINGS[kind]))
    await channel.close()


def test_the_page_has_every_channel_there_is() -> None:
    assert set(table()["`type`"]) == {f"`{kind}`" for kind in entry_points()}


def test_the_page_leads_to_every_page_about_channels() -> None:
    pages = {f"channels/{page.name}" for page in (ROOT / "docs" / "channels").glob("*.md")}
    assert set(re.findall(r"\((channels/\w+\.md)\)", PAGE)) == pages
    assert "(docs/channels.md)" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", SETTINGS)
async def test_what_works_is_what_the_adapter_can_do(kind: str) -> None:
    channel, documented = await opened(kind), column(kind)
    for row, protocols in ABLE.items():
        for protocol in protocols:
            assert documented[row].startswith("yes") is isinstance(channel, protocol), row
    able: Capabilities = channel.capabilities
    assert documented["Buttons"].startswith("yes") is able.buttons
    assert documented['"Typing"'].startswith("yes") is able.typing
    assert (
        documented["The bot looks up an answer that may be lost"].startswith("yes")
        is able.reconciles
    )


@pytest.mark.parametrize("kind", SETTINGS)
async def test_rates_are_those_of_the_adapter(kind: str) -> None:
    able: Capabilities = (await opened(kind)).capabilities
    documented = column(kind)
    assert documented["Sends to a chat after a complaint"] == shown(able.chat_rate)
    assert documented["Sends in all after a complaint"] == shown(able.bot_rate)


def shown(rate: Rate | None) -> str:
    return "at once" if rate is None else f"{rate.count} in {rate.seconds:g} s"


def test_the_line_of_a_repeat_is_quoted() -> None:
    quoted = re.search(r'line\s+"\((.+?) \.\.\.\)"', PAGE)
    assert quoted
    assert REPEAT_LINE.startswith(f"({quoted[1]}")
