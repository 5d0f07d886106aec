"""`nanobot mcp serve`: nanobot as an MCP server, for other programs of its owner.

Every call goes to the nanobot that serves the home, as any command does; where none does, the home
is opened for the call.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import mcp_types as types
import msgspec
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from nanobot import __version__
from nanobot.api import Agent, RunEvent, RunInput, RunResult
from nanobot.cli.calls import performed
from nanobot.cli.logs import to_stderr
from nanobot.config.loader import load
from nanobot.errors import NanobotError, NotServed, StoreLocked, ToolArgumentsError, UsageError
from nanobot.messages import EventKind
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.operation import Operation
from nanobot.server.mcp_tools import (
    CALLED,
    DECIDING,
    LOOKING,
    SEND,
    SendMessage,
    answered,
    described,
)
from nanobot.system import RandomIds
from nanobot.tools.arguments import parse_arguments
from nanobot.tools.schema import parameters_of

# Clients give up after 30 s or 60 s without a word, unless they hear of progress.
_PROGRESS_SECONDS = 5.0
_PATIENCE = 50
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _ObservedRun:
    """What a run does now, in a few words."""

    def __init__(self) -> None:
        self.state = "queued"

    async def observe(self, agent: Agent, request: RunInput) -> RunResult:
        """Its result. Raises as Agent.run does."""
        async for event in agent.run_stream(request):
            self.state = _state(event) or self.state
        return await agent.run(request)


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


class ServedTools:
    """What nanobot offers to other programs."""

    def __init__(self, environ: Mapping[str, str], progress_seconds: float) -> None:
        self._environ = environ
        self._progress_seconds = progress_seconds
        self._config = load(environ)
        operations = {operation.name: operation for operation in OPERATIONS}
        self._operations = {
            CALLED.get(name, name.replace(" ", "_")): operations[name]
            for name in (*LOOKING, *DECIDING)
        }

    async def tools(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        purpose = "Say something to the assistant, and get its answer."
        listed = [described(SEND, purpose, parameters_of(SendMessage), reads=False)]
        for name, operation in self._operations.items():
            sentence = f"{operation.help[0].upper()}{operation.help[1:]}."
            listed.append(described(name, sentence, operation.schema, reads=operation.reads))
        return types.ListToolsResult(tools=listed)

    async def call(
        self, context: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Do it. Whatever is refused is an answer. Clients that asked for progress hear of it."""
        run = _ObservedRun()
        async with asyncio.TaskGroup() as tasks:
            reporting = tasks.create_task(self._report(context, run))
            try:
                return await self._result(request.name, request.arguments or {}, run)
            finally:
                reporting.cancel()

    async def _result(
        self, name: str, arguments: Mapping[str, Any], run: _ObservedRun
    ) -> types.CallToolResult:
        try:
            if name == SEND:
                text = await self._send(arguments, run)
            else:
                text = await self._perform(name, arguments)
        except NanobotError as error:
            return answered(str(error), failed=True)
        return answered(text)

    async def _report(self, context: ServerRequestContext[Any], run: _ObservedRun) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(self._progress_seconds)
            seconds = time.monotonic() - began
            await context.session.report_progress(seconds, message=run.state)

    async def _perform(self, name: str, arguments: Mapping[str, Any]) -> str:
        operation: Operation | None = self._operations.get(name)
        if operation is None:
            raise UsageError(f"there is no tool {name[:80]!r}")
        operation.converted(arguments)
        raw = await performed(self._config, self._environ, operation, arguments)
        return msgspec.json.format(raw, indent=2).decode()

    async def _send(self, arguments: Mapping[str, Any], run: _ObservedRun) -> str:
        try:
            message = parse_arguments(SendMessage, msgspec.json.encode(arguments).decode())
        except ToolArgumentsError as error:
            raise UsageError(str(error)) from None
        request = RunInput(
            messages=[{"role": "user", "content": message.text}],
            session_key=message.session,
            run_id=RandomIds().run_id(),
        )
        try:
            async with asyncio.timeout(message.wait):
                return await self._answered(request, run)
        except TimeoutError:
            raise NanobotError(
                f"no answer within {message.wait:g} s. The message is kept and run "
                f"{request.run_id} goes on while a nanobot serves this home: runs_show tells its "
                "state."
            ) from None

    async def _answered(self, request: RunInput, run: _ObservedRun) -> str:
        home = self._config.home
        for _ in range(_PATIENCE):
            try:
                async with Agent.connect(home) as agent:
                    result = await run.observe(agent, request)
                break
            except NotServed:
                pass
            try:
                async with Agent.open(home) as agent:
                    result = await run.observe(agent, request)
                break
            except StoreLocked:
                # Some command has the store for a moment, or a nanobot is starting.
                await asyncio.sleep(0.1)
        else:
            raise NanobotError("another process holds this home; try again later")
        if result.error is not None:
            raise NanobotError(f"{result.message}\n(run {result.run_id}: {result.error})")
        return result.message


def server(environ: Mapping[str, str], progress_seconds: float = _PROGRESS_SECONDS) -> Server[Any]:
    """The server, for any transport. Raises ConfigError."""
    served = ServedTools(environ, progress_seconds)
    return Server(
        "nanobot",
        version=__version__,
        instructions="A personal assistant with conversations of its own.",
        on_list_tools=served.tools,
        on_call_tool=served.call,
    )


def run(environ: Mapping[str, str], http: str, token_env: str) -> None:
    """Serve until the other side ends, or a signal. Standard output is the protocol's. Raises
    ConfigError and UsageError."""
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
        pass  # the other side left while an answer was on its way to it


def guarded(app: Any, token: str) -> Callable[[_Scope, _Receive, _Send], Awaitable[None]]:
    """The application, for those who show the token only."""
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
