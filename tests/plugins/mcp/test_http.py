"""Servers behind a URL: the real package at both ends of a real connection."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nanobot.errors import ToolError
from nanobot.plugins.mcp.settings import McpSettings
from tests.plugins.mcp.conftest import ROOT, Hasty, working


def free_port() -> int:
    import socket  # noqa: PLC0415

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def started(folder: Path, port: int) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.doubles.mcp_server", str(folder), "http", str(port)),
        env={**os.environ, "PYTHONPATH": ROOT},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


def at(port: int, timeout: float = 20.0) -> McpSettings:
    return McpSettings(url=f"http://127.0.0.1:{port}/mcp", timeout=timeout)


@pytest.mark.process
async def test_a_server_is_used_again_once_it_is_back(folder: Path) -> None:
    port = free_port()
    async with working(folder, ("failed", "connected"), it=at(port)) as bench:
        async with started(folder, port):
            await bench.until(lambda: bench.view().state == "connected")
            assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')
            with pytest.raises(ToolError, match="more than 16,777,216 bytes"):
                await bench.call("mcp__it__huge", '{"size": 17000000}')
            await bench.until(lambda: bench.view().state != "connected")
            await bench.until(lambda: bench.view().state == "connected")
        with pytest.raises(ToolError):
            await bench.call("mcp__it__add", '{"a": 2}')
        await bench.until(lambda: bench.view().state == "failed")
        async with started(folder, port):
            await bench.until(lambda: bench.view().state == "connected")
            assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6000000\r\n\r\n["
        + b" " * 5_999_999,
        b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
        b"no HTTP at all\r\n\r\n",
    ],
    ids=["404", "500", "null", "packed", "huge", "elsewhere", "noise"],
)
async def test_what_is_no_server_is_told_and_tried_again(folder: Path, answer: bytes) -> None:
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    web = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = web.sockets[0].getsockname()[1]
    try:
        async with working(folder, ("failed",), Hasty(), it=at(port, timeout=5.0)) as bench:
            assert bench.view().error
            assert bench.names == ["call_tool", "find_tools", "mcp_read"]
            first = len(requests)
            await bench.until(lambda: len(requests) > first)
    finally:
        web.close()
