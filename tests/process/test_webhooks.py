"""A service tells a real gateway by HTTP, and somebody reads about it in a chat."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import stat
from typing import Any

import aiohttp
import pytest

from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from tests.process.harness import Nanobot, World

SECRET = "It's a Secret to Everybody"
HOOK = HookSettings(style="github", secret=SECRET)
CI = f"""
[web]
port = 0
[hooks.ci]
secret = "{SECRET}"
to = "telegram:1"
per_minute = 100000
prompt = '''
say:{{workflow.name}} {{conclusion|ended}}'''
"""


async def serve(world: World, crash_at: str = "") -> tuple[Nanobot, str]:
    """A gateway, and where its door is. A person has opened the chat, as Telegram wants it."""
    gateway = await world.launch(crash_at=crash_at)
    url = door(await gateway.ready())
    if not world.texts(1):
        world.telegram.say(1, "/help")
        await world.answered(1)
    return gateway, url


async def told(world: World, *texts: str) -> None:
    """Wait until the bot has said just this in the chat, after the help."""
    await world.eventually(lambda: world.texts(1)[1:] == list(texts))


def door(line: str) -> str:
    match = re.search(r" web=(http://127\.0\.0\.1:[1-9]\d+) channels=telegram:up\n$", line)
    assert match, line
    return match[1]


async def deliver(url: str, key: str, **payload: Any) -> tuple[int, str]:
    """Deliver to the hook: the status, and what became of it."""
    body = json.dumps(payload).encode()
    headers = sign(HOOK, body, at=0, key=key) | {"Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/hooks/ci", data=body, headers=headers) as answer,
    ):
        return answer.status, (await answer.json())["status"]


async def test_a_delivery_becomes_one_post_in_a_chat_whatever_is_delivered_again(
    world: World,
) -> None:
    world.configure(more=CI)
    gateway, url = await serve(world)
    assert await deliver(url, "1", workflow={"name": "build"}) == (202, "accepted")
    assert await deliver(url, "1", workflow={"name": "build"}) == (200, "known")
    await told(world, "build ended")
    await world.delivered()
    await gateway.kill()
    gateway, url = await serve(world)
    assert await deliver(url, "1", workflow={"name": "build"}) == (200, "known")
    assert await deliver(url, "2", workflow={"name": "tests"}, conclusion="failed") == (
        202,
        "accepted",
    )
    await told(world, "build ended", "tests failed")
    await world.rests(gateway)
    query = "SELECT key FROM sessions WHERE key LIKE 'hook:%'"
    assert world.rows(query) == [("hook:ci",)]
    prompts = [request["messages"][-1]["content"] for request in world.model.requests]
    assert all("data from outside" in text for text in prompts)


@pytest.mark.parametrize("crash_at", ["claim", "claim:1:after", "start_model", "finish"])
async def test_killed_between_the_answer_and_the_end_of_the_run_it_is_done_once(
    world: World, crash_at: str
) -> None:
    world.configure(more=CI)
    gateway, url = await serve(world, crash_at=crash_at)
    assert await deliver(url, "1", workflow={"name": "build"}) == (202, "accepted")
    await gateway.died()
    gateway, url = await serve(world)
    await told(world, "build ended")
    assert await deliver(url, "1", workflow={"name": "build"}) == (200, "known")
    await world.rests(gateway)
    assert world.rows("SELECT count(*) FROM runs WHERE session_key = 'hook:ci'") == [(1,)]


async def test_killed_before_it_could_answer_the_sender_delivers_again_and_it_is_done_once(
    world: World,
) -> None:
    world.configure(more=CI)
    gateway, url = await serve(world, crash_at="cron_trigger:1:after")
    with pytest.raises(aiohttp.ClientError):
        await deliver(url, "1", workflow={"name": "build"})
    await gateway.died()
    gateway, url = await serve(world)
    assert await deliver(url, "1", workflow={"name": "build"}) == (200, "known")
    await told(world, "build ended")
    await world.rests(gateway)


async def test_a_burst_with_repetitions_is_handled_each_once_and_in_order(world: World) -> None:
    world.configure(more=CI.replace("telegram:1", ""))
    gateway, url = await serve(world)
    count, statuses = 40, []

    async def send(number: int) -> None:
        statuses.append((await deliver(url, str(number), workflow={"name": f"n{number}"}))[0])

    async with asyncio.TaskGroup() as tasks:
        for number in range(count):
            for _ in range(2):
                tasks.create_task(send(number))
    assert sorted(statuses) == [200] * count + [202] * count
    await world.asked(count)
    await world.rests(gateway)
    assert world.rows("SELECT count(*), count(DISTINCT inbound_id) FROM occurrences") == [
        (count, count)
    ]
    query = "SELECT count(*) FROM runs WHERE session_key = 'hook:ci' AND state = 'completed'"
    assert world.rows(query) == [(count,)]


async def test_a_hook_is_tried_from_the_command_line(world: World) -> None:
    world.configure(more=CI + f'[hooks.pay]\nstyle = "stripe"\nsecret = "{SECRET}"')
    idle = await world.run("hooks", "list", "--json")
    assert [hook["url"] for hook in json.loads(idle.output)] == ["/hooks/ci", "/hooks/pay"]
    nobody = await world.run("hooks", "test", "ci")
    assert (nobody.code, "nanobot gateway" in nobody.errors) == (2, True)
    _, url = await serve(world)
    listed = json.loads((await world.run("hooks", "list", "--json")).output)
    assert [hook["url"] for hook in listed] == [f"{url}/hooks/ci", f"{url}/hooks/pay"]
    body = '{"workflow": {"name": "mine"}}'
    tried = await world.run("hooks", "test", "ci", body)
    assert tried.output == f'{url}/hooks/ci answered 202: {{"status":"accepted"}}\n'
    await told(world, "mine ended")
    assert (await world.run("hooks", "test", "pay")).code == 0
    assert (await world.run("hooks", "test", "ci", "{")).code == 1
    assert (await world.run("hooks", "test", "other")).code == 1
    assert SECRET not in world.log


async def test_a_start_that_cannot_work_is_refused_with_the_key(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for more, key in (
            (f"[web]\nenabled = true\nport = {port}", f"web.port: {port} on 127.0.0.1 is taken"),
            ('[web]\nenabled = true\nhost = "192.0.2.1"', "web.host: "),
            ("[hooks.ci]\n", "hooks.ci.secret"),
            ('[hooks.ci]\nsecret = "s"\nto = "telegram"', "hooks.ci.to"),
            ('[hooks.ci]\nsecret = "s"\nto = "matrix:1"', 'no channel "matrix" that is on'),
            ('[hooks.ci]\nsecret = "s"\nsession = "chat"', "hooks.ci.session"),
            (
                '[web]\nport = 0\n[hooks.ci]\nsecret = "s"\nprompt = "{"',
                "hooks.ci.prompt: a single",
            ),
        ):
            world.configure(more=more)
            ended = await world.run("gateway")
            assert (ended.code, key in ended.errors) == (3, True), ended.errors
    world.configure(more='[hooks.ci]\nsecret = "s"\nto = "matrix:1"')
    assert "hooks.ci.to: there is no channel" in (await world.run("config", "check")).output
    world.configure(more="[hooks.ci]\nenabled = false\n[web]\nenabled = false")
    gateway = await world.launch()
    assert " web=off " in await gateway.ready()


async def test_a_token_is_made_at_the_first_start_for_the_owners_eyes_alone(world: World) -> None:
    world.configure(more="[web]\nenabled = true\nport = 0")
    gateway, url = await serve(world)
    file = world.home / "web.token"
    token = file.read_text().strip()
    assert len(token) >= 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"Web: {url}\n" in (await world.run("status")).output
    assert await gateway.stop() == 0
    gateway, _ = await serve(world)
    assert file.read_text().strip() == token
    assert token not in world.log
    assert [path.name for path in world.home.glob(".web.token*")] == []
