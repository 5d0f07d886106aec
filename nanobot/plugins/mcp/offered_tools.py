"""The tools that MCP clients get over HTTP: the same ones as those of `nanobot mcp serve`, on the
gateway that they call.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Annotated, Any

import mcp_types as types
import msgspec
from mcp.server import ServerRequestContext
from mcp.server.lowlevel.server import Server

from nanobot import __version__
from nanobot.errors import NanobotError, ToolArgumentsError, UsageError
from nanobot.messages import RunEvent
from nanobot.operations.catalogue import off_here, plugin_with
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import A_PROGRAM, AT_THE_TERMINAL, Operation
from nanobot.operations.unreadable import Listed, below
from nanobot.plugins.common.operation_schema import schema_of
from nanobot.plugins.common.runs.program_label import said_by_program
from nanobot.plugins.common.runs.programs import Programs
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.system import RandomIds
from nanobot.tools.arguments import parse_arguments
from nanobot.tools.schema import parameters_of

LOOKING = ("status", "sessions list", "sessions show", "runs list", "runs show", "approvals list")
DECIDING = ("approve", "deny", "show", "answer", "stop", "runs cancel")
# Programs cannot answer approvals, unless web.mcp_approves allows it.
OF_PERSONS = ("approve", "show", "answer")
# In a chat "/stop" is enough; a program gets the bare name.
CALLED = {"stop": "sessions_stop"}
SEND = "send_message"
MAX_WAIT = 600.0


class SendMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of send_message."""

    text: Annotated[str, msgspec.Meta(min_length=1, description="What to say to the assistant")]
    session: Annotated[
        str, msgspec.Meta(min_length=1, description="The conversation, made if it is not there")
    ] = "mcp:direct"
    wait: Annotated[
        float, msgspec.Meta(gt=0, le=MAX_WAIT, description="Seconds to wait for the answer")
    ] = 300.0


class OfferedTools(ABC):
    """The tools, for owners. The code that offers them decides which gateway they call."""

    def __init__(self, operations: Iterable[Operation], *, approves: bool) -> None:
        by_name = {operation.name: operation for operation in operations}
        self._operations = {
            CALLED.get(name, name.replace(" ", "_")): by_name[name]
            for name in (*LOOKING, *DECIDING)
            if name in by_name and (approves or name not in OF_PERSONS)
        }

    def server(self) -> Server[Any]:
        """An MCP server of them, for any transport."""
        return Server(
            "nanobot",
            version=__version__,
            instructions="A personal assistant that keeps its conversations.",
            on_list_tools=self._listed,
            on_call_tool=self._call,
        )

    async def _listed(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        purpose = "Say something to the assistant, and get its answer."
        tools = [_described(SEND, purpose, parameters_of(SendMessage), reads=False)]
        for name, operation in self._operations.items():
            tools.append(
                _described(name, operation.sentence, schema_of(operation), reads=operation.reads)
            )
        return types.ListToolsResult(tools=tools)

    async def _call(
        self, _: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await self._answered(request, lambda _event: None)

    async def _answered(
        self, request: types.CallToolRequestParams, observe: Callable[[RunEvent], None]
    ) -> types.CallToolResult:
        """Perform the call. A refusal is an ordinary answer. `observe` receives the events of a
        run.
        """
        arguments = request.arguments or {}
        try:
            if request.name == SEND:
                return _answer(await self._send(arguments, observe))
            operation = self._operations.get(request.name)
            if operation is None and request.name in OF_PERSONS:
                raise UsageError(
                    f"{request.name}: a person decides this. web.mcp_approves = true lets programs"
                )
            if operation is None and (plugin := _plugin_of(request.name)):
                raise UsageError(off_here(request.name, plugin))
            if operation is None:
                raise UsageError(f"there is no tool {request.name[:80]!r}")
            result = await self._perform(operation, arguments)
        except NanobotError as error:
            return _answer(str(error), failed=True)
        lines = below(result.unreadable, "nanobot db quarantine")
        return _answer(msgspec.json.format(bytes(result.result), indent=2).decode(), *lines)

    async def _send(self, arguments: Mapping[str, Any], observe: Callable[[RunEvent], None]) -> str:
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
                result = await self._run(request, observe)
        except TimeoutError:
            raise NanobotError(
                f"no answer within {message.wait:g} s. The message is stored, and run "
                f"{request.run_id} continues while a nanobot serves this home: runs_show shows "
                f"its state."
            ) from None
        if result.error is not None:
            raise NanobotError(f"{result.message}\n(run {result.run_id}: {result.error})")
        return result.message

    @abstractmethod
    async def _perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Listed:
        """The result."""

    @abstractmethod
    async def _run(self, request: RunInput, observe: Callable[[RunEvent], None]) -> RunResult:
        """The end of a run."""


class McpTools(OfferedTools):
    """The tools over a gateway."""

    def __init__(
        self, operations: Dispatcher, runs: Programs, *, approves: bool, trusted: bool
    ) -> None:
        super().__init__(operations.listed, approves=approves)
        self._gateway = operations
        self._runs = runs
        self._trusted = trusted
        self._caller = AT_THE_TERMINAL if trusted else A_PROGRAM

    async def _perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Listed:
        given = await self._gateway.listing(operation.name, arguments, self._caller)
        raw = msgspec.Raw(msgspec.json.encode(given.result))
        return msgspec.structs.replace(given, result=raw)

    async def _run(self, request: RunInput, observe: Callable[[RunEvent], None]) -> RunResult:
        label = said_by_program(request, trusted=self._trusted)
        async with aclosing(self._runs.stream(request, label)) as items:
            async for item in items:
                if isinstance(item, RunResult):
                    return item
                observe(item)
        raise NanobotError("nanobot is stopping; the run resumes at the next start")


def _plugin_of(tool: str) -> str:
    """The plugin that has the operation of a tool which is not offered here; "" if none has."""
    names = (*LOOKING, *DECIDING)
    return next((plugin_with(name) for name in names if name.replace(" ", "_") == tool), "")


def _described(name: str, sentence: str, schema: dict[str, Any], *, reads: bool) -> types.Tool:
    """A tool as clients see it."""
    return types.Tool(
        name=name,
        description=sentence,
        input_schema=schema,
        annotations=types.ToolAnnotations(read_only_hint=reads, open_world_hint=False),
    )


def _answer(text: str, *unreadable: str, failed: bool = False) -> types.CallToolResult:
    """The result of a call or its refusal; then the rows that are unreadable."""
    texts = [text, "\n".join(unreadable)] if unreadable else [text]
    content = [types.TextContent(text=each) for each in texts]
    return types.CallToolResult(content=list(content), is_error=failed)
