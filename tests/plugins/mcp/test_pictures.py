"""Pictures that a server's tools give, from its program to the wire of the model."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.config.loader import load
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.mcp.views import Servers
from nanobot.session.states import RunState
from tests.doubles.openai_server import OpenAIServer
from tests.pictures import jpeg, png
from tests.plugins.mcp.conftest import ROOT, context
from tests.stored import log_of

URL = re.compile(r"data:([a-z/]+);base64,([A-Za-z0-9+/=]+)")


class World:
    """A whole gateway between a model at the wire and a server that gives pictures."""

    def __init__(self, parts: Parts, model: OpenAIServer, home: Path) -> None:
        self.parts = parts
        self.home = home
        self.model = model

    async def connected(self) -> None:
        servers = self.parts.plugged.offers.get(Servers)
        async with asyncio.timeout(60):
            while servers.views()[0].state != "connected":  # noqa: ASYNC110 - see Bench
                await asyncio.sleep(0.02)

    async def call(self, tool: str, session: str = "", **arguments: object) -> str:
        """The model's request that holds the result of the call, as it went over the wire."""
        text = f"tool:{tool}:{json.dumps(arguments)}\nsay:done"
        message = {"role": "user", "content": text}
        request = RunInput(messages=[message], session_key=session)
        events = [
            event async for event in self.parts.plugged.offers.get(RunService).stream(request)
        ]
        assert getattr(events[-1], "status", "") == RunState.COMPLETED
        return json.dumps(self.model.requests[-1]["messages"], ensure_ascii=False)

    async def pictures(self, kind: str, session: str = "") -> str:
        return await self.call("mcp__it__pictures", session, kind=kind)

    @property
    def blobs(self) -> list[bytes]:
        return [path.read_bytes() for path in (self.home / "blobs").glob("*/*")]


def shown(request: str) -> list[tuple[str, bytes]]:
    """The pictures in a request: what each is called, and its bytes."""
    return [(mime, base64.b64decode(data)) for mime, data in URL.findall(request)]


@asynccontextmanager
async def world(home: Path, *, images: bool = True) -> AsyncIterator[World]:
    arguments = json.dumps(["-m", "tests.doubles.mcp_server", str(home)])
    async with OpenAIServer() as model:
        (home / "config.toml").write_text(f"""
[agent]
model = "test/scripted"
[providers.test]
api_base = "{model.base_url}"
models = {{ scripted = {{ images = {json.dumps(images)} }} }}
[mcp.it]
pin = "off"
command = "{sys.executable}"
args = {arguments}
env = {{ PYTHONPATH = "{ROOT}" }}
sandbox = "off"
""")
        environ = {"NANOBOT_HOME": str(home), "PATH": os.defpath}
        gateway = Gateway(load(environ), environ, channels=False)
        async with gateway.serving("test", lambda _: None) as parts:
            connected_world = World(parts, model, home)
            await connected_world.connected()
            yield connected_world


async def test_a_model_that_sees_is_shown_the_picture_of_a_result(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        request = await it.pictures("png")
        assert shown(request) == [("image/png", png(2, 2))]
        assert f"[image 1: PNG, 2 x 2 pixels, {len(png(2, 2))} bytes]" in request
        assert "Untrusted content" in request
        assert shown(await it.pictures("resource")) == [("image/png", png(5, 6))]
        read = await it.call("mcp_read", server="it", uri="shot://today")
        assert shown(read) == [("image/png", png(7, 8))]


async def test_a_model_that_does_not_see_gets_a_line_with_type_and_size(tmp_path: Path) -> None:
    async with world(tmp_path, images=False) as it:
        request = await it.pictures("png")
        facts = f"image 1: PNG, 2 x 2 pixels, {len(png(2, 2))} bytes"
        assert f"[{facts}; you cannot see pictures]" in request
        assert shown(request) == []
        assert "base64" not in request


async def test_the_picture_of_a_failed_call_is_shown_with_its_words(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        request = await it.call("mcp__it__snap")
        assert "error: the server says that it failed:" in request
        assert "the page never loaded" in request
        assert shown(request) == [("image/png", png(4, 3))]


async def test_what_a_picture_is_its_bytes_say(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        assert shown(await it.pictures("lying")) == [("image/jpeg", jpeg(3, 4))]
        reasons = {
            "page": "image/png, 2[57] bytes, not shown: it is not a JPEG, PNG, GIF or WebP picture",
            "broken": "image/png, 300 bytes, not shown: its base64 is broken",
            "large": "image/png, 6,000,0.. bytes, not shown: models take 5 MB",
            "wide": "not shown: it has 9000 x 2 pixels, and models take 8000 a side",
        }
        for kind, line in reasons.items():
            request = await it.pictures(kind)
            assert re.search(line, request), (kind, request[-2_000:])
            assert shown(request) == []
        assert it.blobs == [jpeg(3, 4)]


async def test_a_picture_beyond_all_measure_ends_the_call_and_not_the_run(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        request = await it.pictures("immense")
        assert "it sent a message of more than 16,777,216 bytes" in request
        assert shown(request) == []
        assert not it.blobs
        await it.connected()
        assert shown(await it.pictures("png"))


async def test_of_fifty_pictures_the_first_sixteen_are_shown(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        request = await it.pictures("many")
        assert shown(request) == [("image/png", png(width, 1)) for width in range(1, 17)]
        assert request.count("not shown: at most 16 pictures of a result are") == 34
        assert len(it.blobs) == 16


async def test_a_deleted_session_leaves_no_picture_behind(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.pictures("png", "api:first")
        await it.pictures("png", "api:second")
        await it.call("mcp_read", "api:third", server="it", uri="shot://today")
        assert sorted(it.blobs) == sorted([png(2, 2), png(7, 8)])
        for key in ("api:second", "api:third"):
            await it.parts.operations.of(SqlEraser).delete(key)
        assert it.blobs == [png(2, 2)]
        await it.parts.operations.of(SqlEraser).delete("api:first")
        assert it.blobs == []


async def test_an_erased_result_leaves_no_picture_behind_and_is_exported_before(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as it:
        await it.pictures("png", "api:it")
        entries: list[Any] = list(
            await log_of(it.parts.engine.records).entries("api:it", after=0, limit=99)
        )
        exported = [entry for entry in entries if "attachments" in str(entry)]
        (row,) = [entry for entry in exported if "tool_result" in str(entry)]
        await it.parts.operations.of(SqlEraser).erase("api:it", row.seq, "owner")
        assert it.blobs == []


async def test_a_result_that_no_log_gets_keeps_no_picture(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        text = await it.parts.engine.tools.execute(
            "mcp__it__pictures", '{"kind": "png"}', context()
        )
        assert "[image 1: PNG" in text
        assert it.blobs == []


async def test_a_picture_that_cannot_be_kept_is_a_line_that_says_why(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        (tmp_path / "blobs").write_text("no folder")
        request = await it.pictures("png")
        assert f"not here: a file of {len(png(2, 2))} bytes cannot be kept" in request
        assert shown(request) == []
