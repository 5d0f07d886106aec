"""A long answer whose later parts the platform refuses in the form that it took the first in."""

from __future__ import annotations

import time

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from tests.doubles.discord_rules import IS_COMPONENTS_V2, shown_text
from tests.doubles.discord_server import DM
from tests.doubles.slack_rules import OLD_BLOCKS
from tests.doubles.slack_rules import shown_text as shown_on_slack
from tests.doubles.slack_server import SlackServer
from tests.process.harness import PATIENCE, World
from tests.process.platforms import LiveDiscord, told_once
from tests.sampling import few

WORDS = [f"word{number}" for number in range(1_500)]
LONG = " ".join(WORDS)
"""Some 13,000 characters."""
POINTS = [
    "",
    "receipt:2:before",
    "begin_send:2:before",
    "begin_send:2:after",
    "receipt:2:after",
    "receipt:4:before",
]


@pytest.mark.parametrize("point", few(POINTS, 2))
async def test_on_discord_the_rest_comes_in_content(world: World, point: str) -> None:
    async with LiveDiscord() as discord:
        table = f"""
[channels.discord]
token = "{discord.token}"
api_root = "{discord.api_root}"
owners = ["7"]
"""
        world.configure(more=table)
        discord.components_left = 1
        gateway = await world.launch(crash_at=point)
        await discord.until(lambda: bool(discord.sessions), PATIENCE)
        await discord.say(DM, f"say:{LONG}")
        if point:
            await gateway.died()
            discord.sessions.clear()
            discord.forget_nonces()
            await world.start()

        def texts() -> list[str]:
            return [shown_text(message) for message in discord.mine(DM)]

        await discord.until(lambda: " ".join(texts()).endswith(WORDS[-1]), PATIENCE)
        assert " ".join(texts()) == LONG
        looks = [bool(message["flags"] & IS_COMPONENTS_V2) for message in discord.mine(DM)]
        assert looks == [True] + [False] * (len(looks) - 1)
        assert len(looks) > 4
        await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
        if not point:
            refused = "continues in an older format (Discord: Invalid Form Body"
            assert refused in world.log
            calls = [
                call
                for call in discord.calls_of("POST /channels/{channel}/messages")
                if call.json["flags"] & IS_COMPONENTS_V2
            ]
            assert len(calls) <= 3  # one that was taken; then a chat is asked twice


class AgeingSlack(SlackServer):
    """Knows no Markdown after the first message."""

    def stored(self, chat: str, message: dict[str, object]) -> None:
        super().stored(chat, message)
        self.blocks = OLD_BLOCKS


@pytest.mark.parametrize("point", few(["", "receipt:2:before", "receipt:2:after"], 2))
async def test_on_slack_the_rest_comes_without_markdown(world: World, point: str) -> None:
    async with AgeingSlack(start=int(time.time()) - 3600) as slack:
        table = f"""
[channels.slack]
bot_token = "{slack.bot_token}"
app_token = "{slack.app_token}"
api_root = "{slack.api_root}"
owners = ["U1"]
preview = false
"""
        world.configure(more=table)
        gateway = await world.launch(crash_at=point)
        await slack.connected()
        slack.say("D1", f"say:{LONG} {LONG}")
        if point:
            await gateway.died()
            await world.start()

        def texts() -> list[str]:
            return [shown_on_slack(message["blocks"]) for message in slack.sent("D1")]

        await slack.until(lambda: " ".join(texts()).count(WORDS[-1]) == 2, PATIENCE)
        assert " ".join(" ".join(texts()).split()) == f"{LONG} {LONG}"
        kinds = [message["blocks"][0]["type"] for message in slack.sent("D1")]
        assert kinds[0] == "markdown"
        assert len(kinds) > 1
        assert "markdown" not in kinds[1:]


@pytest.mark.parametrize("point", few(POINTS, 2))
async def test_on_telegram_no_message_of_the_older_form_comes_again_but_the_one_in_doubt(
    world: World, point: str
) -> None:
    """A rich message is one message; without any it is several, each recorded on its own."""
    world.telegram.native.off = True
    gateway = await world.launch(crash_at=point)
    world.telegram.say(1, f"say:{LONG}")
    if point:
        await gateway.died()
        await world.start()

    def texts() -> list[str]:
        return [message.text for message in world.telegram.messages(1)]

    await world.telegram.until(lambda: bool(texts()) and texts()[-1].endswith(WORDS[-1]), PATIENCE)
    assert " ".join(told_once(texts())).split() == WORDS
    assert sum(REPEAT_LINE in text for text in texts()) <= 1
    assert len(texts()) <= len(told_once(texts())) + 2
