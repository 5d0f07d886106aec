"""The page of a gateway as people come by it: on at once, at a free port, with a link."""

from __future__ import annotations

import re
import socket

import aiohttp

from tests.process.harness import World


def page_of(line: str) -> str:
    shown = re.search(r" web=(http://127\.0\.0\.1:\d+) ", line)
    assert shown, line
    return shown[1]


async def test_dashboard_prints_a_link_that_opens_the_page_once(world: World) -> None:
    world.configure()
    ended = await world.run("dashboard", "--show")
    assert (ended.code, "start `nanobot gateway` first" in ended.errors) == (1, True)
    gateway = await world.launch()
    url = page_of(await gateway.ready())
    ended = await world.run("dashboard", "--show")
    link = ended.output.splitlines()[0]
    assert link.startswith(f"{url}/#login=")
    assert link.partition("=")[2] not in world.log
    async with aiohttp.ClientSession() as session:
        for status in (200, 401):
            body = {"secret": link.partition("=")[2]}
            async with session.post(f"{url}/api/login", json=body) as answer:
                assert answer.status == status
    assert await gateway.stop() == 0


async def test_a_usual_port_that_is_taken_is_no_hindrance(world: World) -> None:
    world.configure()
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", 8765))
            taken.listen()
            ours = True
        except OSError:
            ours = False  # another has it, who may leave at any time
        gateway = await world.launch()
        url = page_of(await gateway.ready())
        assert not (ours and url.endswith(":8765"))
        async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz") as answer:
            assert answer.status == 200
        assert await gateway.stop() == 0
