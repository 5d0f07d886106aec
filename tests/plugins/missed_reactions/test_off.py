"""While the plugin is off, a reaction that was made while the gateway was down decides nothing: the
question stays open, and an answer in words decides it."""

from __future__ import annotations

from tests.doubles.discord_server import DM, PERSON
from tests.process.harness import PATIENCE, World
from tests.process.platforms import LiveDiscord
from tests.process.test_missed_reactions import ANN, ASKING, RULE, decided


async def test_a_question_stays_open_until_somebody_answers(world: World) -> None:
    async with LiveDiscord() as discord:
        world.configure(
            top='plugins.off = ["missed_reactions"]',
            more=f"""
[channels.discord]
token = "{discord.token}"
api_root = "{discord.api_root}"
owners = ["{PERSON}"]
{RULE}""",
        )
        gateway = await world.start()
        await discord.until(lambda: bool(discord.sessions), PATIENCE)
        await discord.say(DM, ASKING)
        await discord.until(lambda: bool(discord.mine(DM)), PATIENCE)
        await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
        (question,) = discord.mine(DM)
        await gateway.kill()
        discord.sessions.clear()
        discord.reacted[question["id"]] = {"👍": [ANN]}
        gateway = await world.start()
        await discord.until(lambda: bool(discord.sessions), PATIENCE)
        await discord.say(DM, "/status")
        await discord.until(lambda: len(discord.mine(DM)) > 1, PATIENCE)
        assert not decided(world)
        await discord.say(DM, "yes")
        await discord.until(lambda: "it is over" in str(discord.mine(DM)), PATIENCE)
        assert (world.workspace / "effects").read_text() == "done\n"
        assert await gateway.stop() == 0
    world.verify()
