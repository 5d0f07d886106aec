"""A whole gateway on Mattermost: answers once, whatever breaks on the way, and approvals by a
button that Mattermost delivers to the gateway's own HTTP server."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from importlib.metadata import entry_points

import pytest

from tests.doubles.mattermost_server import ANN, MattermostServer
from tests.process.harness import Nanobot, World
from tests.process.sharing import call, web_of

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="mattermost"),
    reason="not installed with Mattermost",
)


@pytest.fixture
async def chat(world: World) -> AsyncIterator[MattermostServer]:
    async with MattermostServer() as server:
        server.now = time.time()
        world.configure(
            more=f"""
[web]
port = 0
public_url = "https://bot.example.org"
[channels.mattermost]
url = "{server.root_url}"
token = "{server.token}"
owners = ["{ANN}"]
preview = false
"""
        )
        yield server


async def start(world: World, chat: MattermostServer) -> Nanobot:
    gateway = await world.launch()
    line = await gateway.ready()
    assert "mattermost:up" in line
    chat.deliveries.url = f"{web_of(line)}/channels/mattermost"
    return gateway


async def test_what_was_said_while_the_gateway_was_dead_is_answered_once_and_in_order(
    world: World, chat: MattermostServer
) -> None:
    gateway = await start(world, chat)
    await chat.say(chat.dm, "say:zero")
    await chat.until(lambda: chat.texts(chat.dm) == ["zero"])
    await gateway.kill()
    for text in ("say:one", "say:two"):
        await chat.say(chat.dm, text, quiet=True)
    await start(world, chat)
    await chat.until(lambda: "two" in " ".join(chat.texts(chat.dm)))
    heard = [
        line
        for message in world.model.requests[-1]["messages"]
        if message["role"] == "user"
        for line in re.findall(r"say:\w+", str(message["content"]))
    ]
    assert heard == ["say:zero", "say:one", "say:two"]


async def test_killed_in_a_send_the_answer_is_found_and_there_once(
    world: World, chat: MattermostServer
) -> None:
    gateway = await start(world, chat)
    chat.fail("POST /posts", times=1, drop="after")
    await chat.say(chat.dm, "say:one")
    await chat.until(lambda: chat.faulted("POST /posts"))
    await gateway.kill()
    await start(world, chat)
    await chat.say(chat.dm, "say:two")
    await chat.until(lambda: len(chat.texts(chat.dm)) > 1)
    assert chat.texts(chat.dm) == ["one", "two"]


async def test_an_owner_approves_by_a_button(world: World, chat: MattermostServer) -> None:
    await start(world, chat)
    await chat.say(chat.dm, f"{call('exec', command='curl https://example.org/x')}\nsay:done")
    await chat.until(lambda: any(p["props"].get("attachments") for p in chat.mine(chat.dm)))
    (post,) = [p for p in chat.mine(chat.dm) if p["props"].get("attachments")]
    names = [action["name"] for action in post["props"]["attachments"][0]["actions"]]
    assert (await chat.press(post, next(n for n in names if "Deny" in n))).status == 200
    await chat.until(lambda: "done" in chat.texts(chat.dm))
    await chat.until(lambda: not post["props"]["attachments"])  # the question is closed
