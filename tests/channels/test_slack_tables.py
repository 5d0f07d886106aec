"""Tables are tables in Slack, and text in the chats that refuse them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels._slack_parts import Payload, render
from nanobot_channels.slack import SlackChannel
from tests.doubles.slack_rules import Room, check_blocks, shown_text
from tests.doubles.slack_server import SlackServer

CHAT = Address("slack", "D1")
TABLE = "| Host | *State* |\n|---|--:|\n| nas | **ok** |\n| <!channel> | |"
CELLS = "Host | State\nnas | ok\n<!channel> |  "


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        server.rooms["D2"] = Room()
        yield server


@pytest.fixture
async def channel(slack: SlackServer) -> AsyncIterator[SlackChannel]:
    made = SlackChannel("slack", (slack.bot_token, slack.app_token), slack.api_root)
    yield made
    await made.close()


def parts(text: str, *choices: Choice) -> list[OutboundPart]:
    return render(OutboundMessage(address=CHAT, text=text, key="k", choices=choices))


def kinds(part: OutboundPart) -> list[str]:
    return [block["type"] for block in msgspec.json.decode(part.payload, type=Payload).blocks]


async def test_what_follows_a_table_is_a_message_of_its_own(
    slack: SlackServer, channel: SlackChannel
) -> None:
    rendered = parts(f"Before.\n\n{TABLE}\n\nAfter.", Choice("yes", "/yes"))
    assert list(map(kinds, rendered)) == [["rich_text", "table"], ["rich_text", "actions"]]
    for part in rendered:
        await channel.send(CHAT, part)
    shown = [shown_text(message["blocks"]) for message in slack.sent("D1")]
    assert shown == [f"Before.\n{CELLS}", "After."]
    table = slack.sent("D1")[0]["blocks"][1]
    assert table["column_settings"] == [
        {"is_wrapped": True},
        {"align": "right", "is_wrapped": True},
    ]


async def test_a_refused_table_is_text_and_costs_one_try_a_chat(
    slack: SlackServer, channel: SlackChannel
) -> None:
    slack.tables = False
    (part,) = parts(TABLE)
    for _ in range(2):
        await channel.send(CHAT, part)
    assert len(slack.calls_of("chat.postMessage")) == 3
    first, second = (shown_text(message["blocks"]) for message in slack.sent("D1"))
    assert first == second
    assert first.startswith("Host       | State")
    slack.tables = True
    ts = await channel.send(Address("slack", "D2"), parts("Soon.")[0])
    await channel.edit(Address("slack", "D2"), ts, part)
    assert shown_text(slack.sent("D2")[0]["blocks"]) == CELLS


@pytest.mark.parametrize(
    "text",
    [
        "|a" * 21 + "|\n" + "|-" * 21 + "|\n",
        "| a |\n|---|\n" + "| b |\n" * 100,
        "| a |\n|---|\n" + f"| {'long ' * 500} |\n" * 5,
        f"- item\n\n  {TABLE.splitlines()[0]}\n  |---|---|\n  | in | a list |",
        "| a |\n|---|\n| b | lost |",
    ],
    ids=["columns", "rows", "length", "in a list", "cells too many"],
)
def test_what_is_beyond_the_limits_is_text(text: str) -> None:
    for part in parts(text):
        assert "table" not in kinds(part)
        check_blocks(msgspec.json.decode(part.payload, type=Payload).blocks)


def test_each_of_several_tables_has_a_message() -> None:
    rendered = parts(f"{TABLE}\n\nand\n\n{TABLE}")
    assert list(map(kinds, rendered)) == [["table"], ["rich_text", "table"]]
