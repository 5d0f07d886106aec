"""A script on this machine asks a real gateway over UDP."""

from __future__ import annotations

import asyncio
import json
import socket
from importlib.metadata import entry_points
from typing import Any

import pytest

from tests.process.harness import PATIENCE, World


async def exchange(script: socket.socket, port: int, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    script.sendto(json.dumps({"token": "long enough"} | request).encode(), ("127.0.0.1", port))
    async with asyncio.timeout(PATIENCE):
        answer: dict[str, Any] = json.loads(
            await asyncio.get_running_loop().sock_recv(script, 65_536)
        )
    return answer


@pytest.mark.skipif(
    "udp" not in entry_points(group="nanobot.channels").names,
    reason="nanobot was installed here before it had this channel: install it again",
)
async def test_a_script_is_answered_once_it_has_a_role(world: World) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world.configure(
        "max_iterations = 1", more=f'[channels.udp]\nport = {port}\ntoken = "long enough"'
    )
    gateway = await world.start()
    with socket.socket(type=socket.SOCK_DGRAM) as script:
        script.bind(("127.0.0.1", 0))
        script.setblocking(False)
        reply = await exchange(script, port, {"id": "1", "text": "hello", "session": "nightly"})
        code = reply["text"].split("pairing code is ")[1][:9]
        assert (reply["id"], reply["is_error"]) == ("1", False)
        assert (await world.run("pair", "approve", code)).code == 0
        answer = {"id": "2", "text": "good morning", "is_error": False, "part": 1, "parts": 1}
        message = {"id": "2", "text": "say:good morning", "session": "nightly"}
        assert await exchange(script, port, message) == answer
        assert (await exchange(script, port, {"id": "3", "text": "/help"}))["id"] == "3"
        message = {"id": "4", "text": 'tool:list_dir:{"path": "."}', "session": "nightly"}
        failed = await exchange(script, port, message)
        assert failed["is_error"] is True
        assert "the limit of 1 model calls" in failed["text"]
    assert await gateway.stop() == 0
    dead = world.rows("SELECT channel, chat_id FROM outbound WHERE state = 'dead'")
    assert dead == [("udp", "nightly")]  # "You are in" is for nobody: the session is no peer
    assert world.rows("SELECT key FROM sessions WHERE key = 'udp:nightly'") == [("udp:nightly",)]
