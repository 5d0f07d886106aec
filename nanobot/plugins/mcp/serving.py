"""`nanobot mcp serve`: nanobot as an MCP server, for other programs of its owner.

Every call goes to the nanobot that serves the home, like any command; if there is none, the home is
opened for the call.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from nanobot.api import Agent, RunEvent, RunInput, RunResult
from nanobot.cli.logs import to_stderr
from nanobot.config.loader import load
from nanobot.errors import NanobotError, NotServed, StoreLocked, UsageError
from nanobot.messages import EventKind
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import A_PROGRAM, AT_THE_TERMINAL, Operation
from nanobot.operations.unreadable import Listed
from nanobot.plugins.common.commands.performing import performed
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.mcp.offered_tools import OfferedTools

_NAME = "mcp serve"
"""What it is called among the programs that may be trusted."""
# Clients time out after 30 s or 60 s of silence, unless they receive progress.
_PROGRESS_SECONDS = 5.0
_PATIENCE = 50
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def _state(event: RunEvent) -> str:
    match event.kind:
        case EventKind.TOOL_CALL:
            return f"running {event.payload.get('name')}"
        case EventKind.APPROVAL:
            return "waiting for an approval"
        case EventKind.STATUS:
            return str(event.payload.get("state", "running"))
        case EventKind.MODEL_DELTA | EventKind.TOOL_RESULT:
            return "running"
        case _:
            return ""


class ServedTools(OfferedTools):
    """The tools, through the process that serves the home."""

    def __init__(self, environ: Mapping[str, str], progress_seconds: float) -> None:
        self._config = load(environ, unset={})
        every = [*OPERATIONS, *plugin_operations()]
        super().__init__(every, approves=self._config.of(WebSettings).mcp_approves)
        self._trusted = _NAME in self._config.of(WebSettings).trusted_programs
        self._environ = environ
        self._progress_seconds = progress_seconds

    async def _call(
        self, context: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Clients that requested progress receive it."""
        state = "queued"

        def observe(event: RunEvent) -> None:
            nonlocal state
            state = _state(event) or state

        async def report() -> None:
            began = time.monotonic()
            while True:
                await asyncio.sleep(self._progress_seconds)
                await context.session.report_progress(time.monotonic() - began, message=state)

        async with asyncio.TaskGroup() as tasks:
            reporting = tasks.create_task(report())
            try:
                return await self._answered(request, observe)
            finally:
                reporting.cancel()

    async def _perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Listed:
        operation.converted(arguments)
        caller = AT_THE_TERMINAL if self._trusted else A_PROGRAM
        return await performed(self._config, self._environ, operation, arguments, (), caller)

    async def _run(self, request: RunInput, observe: Callable[[RunEvent], None]) -> RunResult:
        home, program = self._config.home, not self._trusted
        for _ in range(_PATIENCE):
            with suppress(NotServed):
                async with Agent.connect(home, program=program) as agent:
                    return await _observed(agent, request, observe)
            with suppress(StoreLocked):
                async with Agent.open(home, program=program) as agent:
                    return await _observed(agent, request, observe)
            # Another command is using the store, or a nanobot is starting.
            await asyncio.sleep(0.1)
        raise NanobotError("another process holds this home; try again later")


async def _observed(
    agent: Agent, request: RunInput, observe: Callable[[RunEvent], None]
) -> RunResult:
    async for event in agent.run_stream(request):
        observe(event)
    return await agent.run(request)


def server(environ: Mapping[str, str], progress_seconds: float = _PROGRESS_SECONDS) -> Server[Any]:
    """The server, for any transport. Raises ConfigError."""
    return ServedTools(environ, progress_seconds).server()


def run(environ: Mapping[str, str], http: str, token_env: str) -> None:
    """Serve until the other side closes, or a signal. Standard output carries the protocol. Raises
    ConfigError and UsageError.
    """
    if token_env and not http:
        raise UsageError("--token-env is the token of --http: give that too, as --http HOST:PORT")
    to_stderr(environ, "WARNING")
    served = server(environ)
    if not http:
        asyncio.run(_over_pipes(served))
        return
    host, colon, port = http.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--http {http[:80]!r}: write HOST:PORT, as in 127.0.0.1:8766")
    token = environ.get(token_env, "") if token_env else ""
    if not token:
        raise UsageError("--http needs --token-env with the name of a variable that holds a token")
    host = host.strip("[]")
    app = served.streamable_http_app(host="127.0.0.1" if host in _LOOPBACK else host)
    settings = uvicorn.Config(
        guarded(app, token), host=host, port=int(port), log_level="warning", log_config=None
    )
    uvicorn.Server(settings).run()


async def _over_pipes(served: Server[Any]) -> None:
    try:
        async with stdio_server() as (incoming, outgoing):
            await served.run(incoming, outgoing, served.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client disconnected while an answer was on its way


def guarded(app: Any, token: str) -> Callable[[_Scope, _Receive, _Send], Awaitable[None]]:
    """The application, for clients that send the token only."""
    expected = f"Bearer {token}".encode()

    async def ask(scope: _Scope, receive: _Receive, send: _Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(shown, expected):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return ask
