"""The official MCP client talks to a gateway over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.server.housing import TOKEN, House


@asynccontextmanager
async def client(served: House, token: str = TOKEN) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        streamable_http_client(f"{served.url}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        yield session


def text(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


async def test_a_client_sees_the_tools_and_uses_them(served: House) -> None:
    async with client(served) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert {"send_message", "status", "runs_list", "deny", "sessions_stop"} <= set(tools)
        assert not {"approve", "answer"} & set(tools)
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert hints["status"] is not None
        assert hints["status"].read_only_hint
        result = await session.call_tool("send_message", {"text": "hello", "session": "mcp:desk"})
        assert text(result) == "echo: hello"
        listed = await session.call_tool("runs_list", {"session": "mcp:desk"})
        assert '"state": "completed"' in text(listed)
        for name, arguments in (("approve", {"id": 7}), ("fly", {}), ("send_message", {})):
            refused = await session.call_tool(name, arguments)
            assert refused.is_error, name


async def test_only_owners_are_served(served: House) -> None:
    owner, stranger = await served.owner(), await served.stranger()
    member = await served.program("anna", "member")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for who, code in ((stranger, 401), (member, 403)):
        assert (await who.ask("POST", "/mcp", json=body))[0] == code
    assert (await owner.get("/mcp"))[0] == 405
    for raw in (b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff"):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        async with owner.session.post(
            f"{served.url}/mcp", data=raw, headers=owner.headers | headers
        ) as response:
            assert 400 <= response.status < 500, raw
