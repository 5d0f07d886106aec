"""Two accounts of one platform in one process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from nanobot.messages import OutboundMessage
from nanobot.plugins.kit.checked_channel import Platform, opened, running
from nanobot.plugins.kit.intake import RecordingIntake
from nanobot.ports import Channel
from tests.channels.test_contract import PLATFORMS


async def answer(channel: Channel, intake: RecordingIntake, text: str) -> None:
    await intake.until(lambda: bool(intake.taken), f"what {text} answers is admitted")
    (message,) = intake.taken
    answer = OutboundMessage(address=message.address, text=text, key=text)
    for part in channel.render(answer):
        await channel.send(message.address, part)


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.__name__)
async def test_two_accounts_of_a_platform_hear_and_answer_apart(
    platform: Callable[[], AbstractAsyncContextManager[Platform]],
) -> None:
    async with platform() as one, platform() as other:
        intakes = RecordingIntake(), RecordingIntake()
        async with (
            opened(one) as first,
            opened(other) as second,
            running(one, first, intakes[0], "to the first"),
            running(other, second, intakes[1], "to the second"),
        ):
            await answer(second, intakes[1], "from the second")
            await answer(first, intakes[0], "from the first")
        assert [[message.text for message in intake.taken] for intake in intakes] == [
            ["to the first"],
            ["to the second"],
        ]
        assert "from the first" in one.shown()[-1]
        assert "from the second" in other.shown()[-1]
