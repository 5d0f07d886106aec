"""A thumb that somebody put under a question while no gateway ran decides once one does."""

from __future__ import annotations

import json
import time

import pytest

from tests.doubles.discord_server import DM, PERSON
from tests.doubles.matrix_rooms import ANN as ANN_ON_MATRIX
from tests.doubles.matrix_rooms import ME
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.slack_rules import shown_text as shown_on_slack
from tests.doubles.slack_server import SlackServer
from tests.process.harness import PATIENCE, World
from tests.process.platforms import LiveDiscord

COMMAND = json.dumps({"command": "echo done >> effects"})
ASKING = f"tool:exec:{COMMAND}\nsay:it is over"
RULE = '[[policy.rules]]\ntool = "exec"\nverdict = "ask"\n'
ANN = {"id": PERSON, "username": "person7", "global_name": "Person 7"}
STRANGER = {"id": "99", "username": "stranger"}
BOT = {"id": "98", "username": "robot", "bot": True}


def decided(world: World) -> bool:
    return world.rows("SELECT state FROM approvals") not in ([("waiting",)], [("detached",)])


@pytest.mark.parametrize(("emoji", "effect"), [("👍", "done\n"), ("👎", "")])
async def test_on_discord(world: World, emoji: str, effect: str) -> None:
    async with LiveDiscord() as discord:
        world.configure(
            more=f"""
[channels.discord]
token = "{discord.token}"
api_root = "{discord.api_root}"
owners = ["{PERSON}"]
{RULE}"""
        )
        gateway = await world.start()
        await discord.until(lambda: bool(discord.sessions), PATIENCE)
        await discord.say(DM, ASKING)
        await discord.until(lambda: bool(discord.mine(DM)), PATIENCE)
        await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
        (question,) = discord.mine(DM)
        await gateway.kill()
        discord.sessions.clear()
        discord.reacted[question["id"]] = {
            "🎉": [ANN],
            "👍": [STRANGER, BOT],
            "👎": [STRANGER],
        }
        discord.reacted[question["id"]][emoji] = [STRANGER, ANN]
        gateway = await world.start()
        await world.eventually(lambda: decided(world))
        await discord.until(lambda: "it is over" in str(discord.mine(DM)), PATIENCE)
        file = world.workspace / "effects"
        assert (file.read_text() if file.exists() else "") == effect
        assert await gateway.stop() == 0
    world.verify()


@pytest.mark.parametrize(("name", "effect"), [("+1::skin-tone-2", "done\n"), ("-1", "")])
async def test_on_slack(world: World, name: str, effect: str) -> None:
    async with SlackServer(start=int(time.time()) - 3600) as slack:
        world.configure(
            more=f"""
[channels.slack]
bot_token = "{slack.bot_token}"
app_token = "{slack.app_token}"
api_root = "{slack.api_root}"
owners = ["U1"]
{RULE}"""
        )
        gateway = await world.start()
        await slack.connected()
        slack.say("D1", ASKING)
        await slack.until(lambda: bool(slack.sent("D1")), PATIENCE)
        await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
        (question,) = slack.sent("D1")
        await gateway.kill()
        slack.reacted["D1", question["ts"]] = {"tada": ["U1"], "x": ["U2"], name: ["U2", "U1"]}
        gateway = await world.start()
        await world.eventually(lambda: decided(world))

        def over() -> bool:
            return "it is over" in [
                shown_on_slack(message["blocks"]) for message in slack.sent("D1")
            ]

        await slack.until(over, PATIENCE)
        file = world.workspace / "effects"
        assert (file.read_text() if file.exists() else "") == effect
        assert await gateway.stop() == 0
    world.verify()


@pytest.mark.parametrize(("emoji", "effect"), [("👍", "done\n"), ("👎", "")])
async def test_on_matrix(world: World, emoji: str, effect: str) -> None:
    async with MatrixServer() as matrix:
        world.configure(
            more=f"""
[channels.matrix]
homeserver = "{matrix.root_url}"
user = "{ME}"
password = "{matrix.password}"
owners = ["{ANN_ON_MATRIX}"]
{RULE}"""
        )
        gateway = await world.start()
        await matrix.until(lambda: matrix.since > 0)
        matrix.say(matrix.dm, ASKING)
        await matrix.until(lambda: any("may" in text.lower() for text in matrix.texts(matrix.dm)))
        await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
        ((question,),) = world.rows("SELECT receipt FROM outbound_parts")
        await gateway.kill()
        for sender, key in (("@bob:loopback", emoji), (ANN_ON_MATRIX, emoji)):
            relates = {"rel_type": "m.annotation", "event_id": question, "key": key}
            matrix.rooms.add(matrix.dm, "m.reaction", {"m.relates_to": relates}, sender=sender)
        gateway = await world.start()
        await world.eventually(lambda: decided(world))
        await matrix.until(lambda: "it is over" in matrix.texts(matrix.dm))
        file = world.workspace / "effects"
        assert (file.read_text() if file.exists() else "") == effect
        assert await gateway.stop() == 0
    world.verify()
