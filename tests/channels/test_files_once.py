"""A file that goes with an answer is one part of it, whichever adapter renders the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from nanobot.channels.sender import PartSender
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import Channel
from nanobot.testing import gateway
from nanobot.testing.machine import ManualClock
from nanobot_channels import discord, telegram

FILE = Attachment(kind="document", name="a.pdf")


@pytest.mark.parametrize("text", ["Here.", ""])
@pytest.mark.parametrize(
    "opened",
    [telegram.open_channel, discord.open_channel],
    ids=["telegram", "discord"],
)
async def test_a_file_is_sent_once(
    opened: Callable[[str, Mapping[str, object]], Channel], text: str
) -> None:
    message = OutboundMessage(address=Address("x", "1"), text=text, key="k", attachments=(FILE,))
    async with gateway() as bot:
        sender = PartSender(opened("x", {"token": "1:abc"}), ManualClock(), bot.host.moved)
        parts = await sender.render(message)
    assert [part.file for part in parts if part.file] == [FILE]
    assert [part.text for part in parts if not part.file] == ([text] if text else [])
