"""One connection to a server: its requests, in our types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

import httpx2
import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter, ValidationError

from nanobot import __version__
from nanobot.log_context import sent
from nanobot.plugins.common.walls import SandboxProcess
from nanobot.plugins.mcp import http, stdio
from nanobot.plugins.mcp.connection_state import MAX_MESSAGE_BYTES, ConnectionState, ServerTrouble
from nanobot.plugins.mcp.content import McpReply, prompt_reply, resource_reply, result_reply
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.program import hindrance, started
from nanobot.plugins.mcp.screening import screened
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.text import quoted

MAX_TOOLS = 256
"""Maximum tools offered from one server, in the order in which it lists them."""
MAX_PAGES = 20

_ME = types.Implementation(name="nanobot", version=__version__)
_EXPECTED = (MCPError, OSError, httpx2.HTTPError, TimeoutError, ValidationError, RuntimeError)
_called: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a server lists it, unchecked. `read_only` is the server's own claim: it is shown to
    people and has no other effect.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool


class McpConnection:
    """A connected server. Its methods raise ServerTrouble if no answer comes; an error from the
    server is an answer.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def protocol(self) -> str:
        """The version of the protocol that both sides agreed on."""
        return self._client.protocol_version

    async def tools(self) -> list[McpTool]:
        """Its tools, at most MAX_TOOLS."""
        if self._client.server_capabilities.tools is None:
            return []
        listed: list[types.Tool] = []
        cursor = None
        with _explained():
            for _ in range(MAX_PAGES):
                request = types.PaginatedRequestParams(cursor=cursor)
                page = await self._client.session.list_tools(params=request if cursor else None)
                listed += page.tools
                cursor = page.next_cursor
                if not cursor or len(listed) >= MAX_TOOLS:
                    break
        return [_listed(tool) for tool in listed[:MAX_TOOLS]]

    async def call(self, name: str, arguments: dict[str, Any]) -> McpReply:
        """Call a tool. The result is not validated against the server's schema for it: both come
        from the server, and the schema's patterns may take forever.
        """
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=name, arguments=arguments, _meta=_meta())
        )
        try:
            result = await self._client.session.send_request(request, _called)
        except MCPError as error:
            if _is_lost(error):
                raise ServerTrouble(str(error)) from error
            return McpReply(error.message, ok=False)
        except ValidationError as error:
            raise ServerTrouble("its answer is not what the protocol says") from error
        if isinstance(result, types.InputRequiredResult):
            return McpReply("It wants input from a person, which cannot be given here.", ok=False)
        return await asyncio.to_thread(result_reply, result)  # images of megabytes

    async def catalogue(self) -> McpReply:
        """Its resources and prompts, one per line."""
        can, lines = self._client.server_capabilities, list[str]()
        with _explained():
            if can.resources is not None:
                resources = (await self._client.list_resources()).resources
                lines += [f"{entry.uri}: {entry.description or entry.name}" for entry in resources]
                templates = (await self._client.list_resource_templates()).resource_templates
                lines += [
                    f"{entry.uri_template}: {entry.description or entry.name}"
                    for entry in templates
                ]
            if can.prompts is not None:
                lines += [_prompt(entry) for entry in (await self._client.list_prompts()).prompts]
        return McpReply("\n".join(lines) or "(no resources and no prompts)")

    async def read(self, uri: str) -> McpReply:
        """The content of a resource."""
        with _explained():
            resource = await self._client.read_resource(uri, meta=_meta())
        return await asyncio.to_thread(resource_reply, resource.contents)

    async def prompt(self, name: str, arguments: dict[str, str]) -> McpReply:
        """A prompt, filled in."""
        with _explained():
            prompt = await self._client.get_prompt(name, arguments, meta=_meta())
        return await asyncio.to_thread(prompt_reply, prompt.messages)


@asynccontextmanager
async def linked(
    name: str,
    settings: McpSettings,
    base: Mapping[str, str],
    place: ServerPlace,
    line: ConnectionState,
) -> AsyncIterator[McpConnection]:
    """Connect, and stay connected within this context. A program gets `base` and its own `env` as
    its environment. Raises ServerTrouble.
    """
    program: SandboxProcess | None = None
    try:
        with _explained():
            async with AsyncExitStack() as stack:
                if settings.command:
                    program = await stack.enter_async_context(
                        started(name, settings, base, place, line)
                    )
                    transport = stdio.talking(program.process, line)
                else:
                    web = await stack.enter_async_context(http.client(settings.headers, line))
                    transport = streamable_http_client(
                        settings.url, http_client=web, max_sse_event_size=MAX_MESSAGE_BYTES
                    )
                yield await _connected(settings, transport, line, stack)
    except ServerTrouble as trouble:
        if program is None or line.exposed:
            raise
        raise ServerTrouble(f"{trouble}{hindrance(name, settings, program)}") from trouble


async def _connected(
    settings: McpSettings,
    transport: AbstractAsyncContextManager[TransportStreams],
    line: ConnectionState,
    stack: AsyncExitStack,
) -> McpConnection:
    client = Client(
        screened(transport),
        read_timeout_seconds=settings.timeout,
        message_handler=_hearing(line),
        client_info=_ME,
        cache=None,
    )
    try:
        async with asyncio.timeout(settings.timeout):
            await stack.enter_async_context(client)
    except (*_EXPECTED, ExceptionGroup) as error:
        if line.ended:
            raise ServerTrouble(line.why) from error
        if isinstance(error, TimeoutError) and (words := line.words()):
            raise ServerTrouble(f"it does not answer: {words}") from error
        raise
    return McpConnection(client)


def _meta() -> Any:
    """What accompanies the request in its metadata, as the protocol has it; None if nothing does.
    Requests over HTTP carry it in their headers too.
    """
    return dict(sent()) or None


def _hearing(line: ConnectionState) -> Any:
    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            line.look()

    return hear


@contextmanager
def _explained() -> Iterator[None]:
    """Turn every error of a server, or of the connection to it, into ServerTrouble."""
    try:
        yield
    except ServerTrouble:
        raise
    except (*_EXPECTED, ExceptionGroup) as error:
        cause: Exception = error
        while isinstance(cause, ExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, ServerTrouble):
            raise cause from error
        if not isinstance(cause, _EXPECTED):
            raise
        raise ServerTrouble(_why(cause)) from error


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, ValidationError):
        return "its answer is not what the protocol says"
    return quoted(str(error) or type(error).__name__)


def _is_lost(error: MCPError) -> bool:
    lost = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
    return error.code in lost or "session terminated" in error.message.lower()


def _listed(tool: types.Tool) -> McpTool:
    notes = tool.annotations
    return McpTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        read_only=notes is not None and notes.read_only_hint is True,
    )


def _prompt(prompt: types.Prompt) -> str:
    names = ", ".join(argument.name for argument in prompt.arguments or ())
    return f"prompt {prompt.name}({names}): {prompt.description or prompt.title or ''}"
