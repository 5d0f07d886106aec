"""The page about Discord shows what the renderer makes, and the settings that there are."""

from __future__ import annotations

import re
from pathlib import Path

import discord

from nanobot.messages import Address, OutboundMessage
from nanobot_channels.discord import DEFAULT_API_ROOT, FILE_LIMIT
from nanobot_channels.discord import components as discord_components
from nanobot_channels.discord.markdown import TEXT_LIMIT
from nanobot_channels.discord.parts import content_of, render
from nanobot_channels.discord.receiving import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "channels" / "discord.md").read_text("utf-8")


def test_the_rendering_on_the_page_is_the_renderers() -> None:
    source = re.search(r"````markdown\n(.*?)\n````", PAGE, re.DOTALL)
    sent = re.search(r"````text\n(.*?)\n````", PAGE, re.DOTALL)
    assert source is not None
    assert sent is not None
    message = OutboundMessage(address=Address("discord", "1"), text=source[1], key="k")
    (part,) = render(message)
    assert content_of(part) == sent[1]


def test_the_permissions_in_the_link_are_those_named() -> None:
    match = re.search(r"permissions=(\d+)", PAGE)
    assert match is not None
    assert discord.Permissions(int(match[1])) == discord.Permissions(
        view_channel=True,
        send_messages=True,
        send_messages_in_threads=True,
        read_message_history=True,
        attach_files=True,
        add_reactions=True,
        send_voice_messages=True,
    )


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    assert f"| a message | {TEXT_LIMIT:,} characters |" in PAGE
    assert f"| a message of components | {discord_components.TEXT_LIMIT:,} characters |" in PAGE
    assert f"| files to you | {FILE_LIMIT // 1024 // 1024} MB |" in PAGE
    assert f"| `backfill_messages` | {Limits().messages} |" in PAGE
    assert f"| `backfill_hours` | {Limits().hours:g} |" in PAGE
    assert f"| `api_root` | `{DEFAULT_API_ROOT}` |" in PAGE
