"""One Model Context Protocol server: keeps it connected, offers its tools, and contains its
failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.config.values import masked
from nanobot.errors import StoreError, StoreUnwritable, ToolError, ToolTimeout, UsageError
from nanobot.messages import Attachment, Role
from nanobot.plugins.common.files.untrusted import FRAME_CHARS, untrusted
from nanobot.plugins.common.optional import lack
from nanobot.plugins.mcp import tool_names as offer
from nanobot.plugins.mcp.connection_state import ConnectionState, ServerTrouble
from nanobot.plugins.mcp.pictures import Picture
from nanobot.plugins.mcp.pins import Pins, Said
from nanobot.plugins.mcp.place import ServerPlace
from nanobot.plugins.mcp.settings import McpSettings
from nanobot.plugins.mcp.views import ServerView
from nanobot.ports import Clock
from nanobot.text import MAX_RESULT_CHARS, Sentence, shorten
from nanobot.tools.base import AnyTool, CallContext, Effect, RawArgs, Tool, ToolOutput
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.blobs import Blobs

if TYPE_CHECKING:  # needs the protocol's package, which is loaded when a server is connected
    from nanobot.plugins.mcp.connection import McpConnection, McpTool
    from nanobot.plugins.mcp.content import McpReply

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0
REFRESH_SECONDS = 60.0
"""How often an idle server is asked for its tools, which also checks that it is alive."""
_SETTLE_SECONDS = 1.0
_STEADY_SECONDS = 60.0
_GRACE_SECONDS = 10.0
_REST = "Ask for less of it."


Connector: TypeAlias = (
    "Callable[[str, McpSettings, ConnectionState], AbstractAsyncContextManager[McpConnection]]"
)
"""Connects to a server by its name. Raises ServerTrouble."""


class McpServer:
    """Keeps one server connected while `run` is running, retrying ever more slowly.

    While it is disconnected its tools stay listed, so that prompts stay the same; calls then report
    it.
    """

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        name: str,
        settings: McpSettings,
        registry: ToolRegistry,
        clock: Clock,
        connector: Connector,
        blobs: Blobs,
        pins: Pins,
    ) -> None:
        self.name = name
        self.settings = settings
        self._registry = registry
        self._clock = clock
        self._connector = connector
        self._blobs = blobs
        self._pins = pins
        self._state = "off" if settings.enabled else "disabled"
        self._error = ""
        self._link: McpConnection | None = None
        self._line = ConnectionState()
        self._calls = 0
        self._stopping = False
        self._offered: dict[str, AnyTool] = {}
        self.settled = asyncio.Event()

    @property
    def view(self) -> ServerView:
        settings, line = self.settings, self._line
        gone = self._state == "connected" and line.ended
        without = f" (without a sandbox: {line.exposed})" if line.exposed else ""
        return ServerView(
            name=self.name,
            state="failed" if gone else self._state,
            tools=len(self._offered),
            waiting=sum(1 for tool in self._offered.values() if tool.unaccepted),
            where=(settings.command + without) if settings.command else masked("url", settings.url),
            error=self._registry.redact(line.why if gone else self._error),
        )

    async def run(self) -> None:
        """Keep it connected until cancelled or stopped."""
        wait, self._stopping = FIRST_WAIT_SECONDS, False
        while not self._stopping:
            began = self._clock.monotonic()
            self._state = "connecting"
            with boundary(f"MCP server {self.name}") as caught:
                try:
                    await self._serve()
                except ServerTrouble as trouble:
                    self._failed(str(trouble))
            if caught.error is not None:
                self._failed(f"it broke something here ({type(caught.error).__name__})")
            if self._stopping:
                return
            if self._clock.monotonic() - began > _STEADY_SECONDS:
                wait = FIRST_WAIT_SECONDS
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    def stop(self) -> None:
        """Do not connect again. Cancelling is not enough: the protocol's package may take a
        cancellation for its own if it comes while a connection ends.
        """
        self._stopping = True
        self._line.end("nanobot is stopping")

    def _failed(self, why: Sentence) -> None:
        self._state, self._error = "failed", why
        self.settled.set()
        logger.warning("MCP server {}: {}", self.name, self._registry.redact(why))

    async def _serve(self) -> None:
        self._line = line = ConnectionState()
        async with self._connector(self.name, self.settings, line) as link:
            try:
                await self._relist(link, line)
                self._link, self._state, self._error = link, "connected", ""
                self.settled.set()
                logger.info("MCP server {}: {} tools", self.name, len(self._offered))
                while True:
                    await self._news(line)
                    await self._relist(link, line)
            finally:
                self._link = None

    async def _news(self, line: ConnectionState) -> None:
        """Wait until the server has to be asked for its tools. A server with calls in progress is
        not disturbed.
        """
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await line.news.wait()
            if line.ended:
                raise ServerTrouble(line.why)
            if line.news.is_set() or not self._calls:
                break
        if line.news.is_set():
            # However often the server changes them.
            await self._clock.sleep(_SETTLE_SECONDS)
        line.news.clear()
        if line.ended:
            raise ServerTrouble(line.why)

    async def _relist(self, link: McpConnection, line: ConnectionState) -> None:
        try:
            async with asyncio.timeout(self.settings.timeout):
                listed = await link.tools()
        except TimeoutError:
            raise ServerTrouble("it does not answer") from None
        except ServerTrouble:
            if line.ended:
                raise ServerTrouble(line.why) from None
            raise
        await self._offer(listed)

    def look(self) -> None:
        """Look up again which tools are accepted."""
        self._line.look()

    async def _offer(self, listed: list[McpTool]) -> None:
        """Have exactly these in the registry, marked if they are not accepted."""
        fit = [listing for listing in listed if offer.allowed(listing.name, self.settings.allow)]
        given = offer.names(self.name, [listing.name for listing in fit])
        by_name = {listing.name: listing for listing in reversed(fit)}
        said = {
            tool: Said(offer.described(self.name, each.description), offer.schema(each.schema))
            for tool, each in ((tool, by_name[tool]) for tool in given.values())
        }
        try:
            trusted = self.settings.pin == "changes"
            accepted = await self._pins.note(self.name, said, trusted_at_first=trusted)
        except StoreError as error:
            why = f"the store cannot say which of its tools are accepted: {error}"
            raise ServerTrouble(why) from error
        tools = {
            name: self._tool(name, tool, said[tool], accepted.get(tool, ""))
            for name, tool in given.items()
        }
        for name in [name for name in self._offered if not _same(self._offered[name], tools)]:
            self._registry.unregister(name)
            del self._offered[name]
        for name, tool in tools.items():
            if name not in self._offered:
                try:
                    self._registry.register(tool, source=f"mcp {self.name}")
                except UsageError as error:
                    logger.warning("MCP server {}: {}", self.name, error)
                    continue
                self._offered[name] = tool

    def _tool(self, name: str, own: str, said: Said, accepted: str) -> AnyTool:
        async def run(args: RawArgs, context: CallContext) -> ToolOutput:
            return await self.ask(
                lambda link: link.call(own, args.values), f"tool {own}", context, "tools/call"
            )

        roles = {Role.OWNER, Role.MEMBER} if self.settings.members else {Role.OWNER}
        return Tool(
            name=name,
            description=said.description,
            args=RawArgs,
            run=run,
            effect=Effect.WORLD,
            timeout=self.settings.timeout + _GRACE_SECONDS,
            allowed=frozenset(roles),
            rest=_REST,
            parameters=dict(said.schema),
            lazy=True,
            version="" if self.settings.pin == "off" else said.digest,
            unaccepted="" if accepted == said.digest else self._unaccepted(changed=bool(accepted)),
        )

    def _unaccepted(self, *, changed: bool) -> Sentence:
        how = "no owner has accepted this tool yet"
        if changed:
            how = "its server changed this tool, and no owner has accepted the change"
        return f"{how} (`mcp review {self.name}` shows it)"

    async def ask(
        self,
        question: Callable[[McpConnection], Awaitable[McpReply]],
        what: str,
        context: CallContext,
        method: str,
    ) -> ToolOutput:
        """Ask the server and mark its answer as untrusted, with its images; failed if the server
        calls it an error. `method`: of the protocol, for the log. Raises ToolError.
        """
        facts = self._facts(method)
        try:
            output = await self._asked(question, what, context)
        except ToolError as error:
            error.facts = facts
            raise
        return msgspec.structs.replace(output, facts=facts)

    def _facts(self, method: str) -> dict[str, str]:
        where = urlsplit(self.settings.url)
        facts = {
            "mcp.server": self.name,
            "mcp.method": method,
            "mcp.protocol": "" if self._link is None else self._link.protocol,
            "mcp.session": self._line.session,
            "mcp.transport": "pipe" if self.settings.command else "tcp",
            "mcp.address": where.hostname or "",
        }
        return {name: value for name, value in facts.items() if value}

    async def _asked(
        self,
        question: Callable[[McpConnection], Awaitable[McpReply]],
        what: str,
        context: CallContext,
    ) -> ToolOutput:
        link, line = self._link, self._line
        if link is None or line.ended:
            why = self._registry.redact(line.why or self._error) or "it is being connected"
            raise ToolError(
                f"the MCP server {self.name} is not connected: {why}. "
                "nanobot will reconnect; continue without it, or try again later."
            )
        self._calls += 1
        try:
            async with asyncio.timeout(self.settings.timeout):
                answer = await question(link)
        except TimeoutError:
            line.look()
            raise ToolTimeout(
                f"the MCP server {self.name} gave no answer within {self.settings.timeout:g} s; "
                "outcome unknown"
            ) from None
        except ServerTrouble as trouble:
            line.look()
            raise ToolError(
                f"the MCP server {self.name} failed ({line.why or trouble}); outcome unknown"
            ) from trouble
        finally:
            self._calls -= 1
        room = MAX_RESULT_CHARS - FRAME_CHARS
        text = untrusted(shorten(answer.text, room, _REST), f"MCP server {self.name}, {what}")
        if not answer.ok:
            text = f"the server says that it failed:\n{text}"
        pictures = answer.pictures if context.logged else ()
        files = [await self._kept(picture) for picture in pictures]
        return ToolOutput(text, attachments=tuple(files), failed=not answer.ok)

    async def _kept(self, picture: Picture) -> Attachment:
        size = len(picture.content)
        file = Attachment("image", name=picture.name, mime=picture.mime, size=size)
        try:
            digest = await self._blobs.write(picture.content)
        except StoreUnwritable as error:
            return msgspec.structs.replace(file, error=str(error))
        return msgspec.structs.replace(file, blob=digest)


def _same(tool: AnyTool, others: Mapping[str, AnyTool]) -> bool:
    """Whether a tool looks the same as the registered one of its name."""
    other = others.get(tool.name)
    if other is None:
        return False
    said, other_said = (tool.description, tool.parameters), (other.description, other.parameters)
    return said == other_said and tool.unaccepted == other.unaccepted


@asynccontextmanager
async def connect(
    base: Mapping[str, str],
    place: ServerPlace,
    name: str,
    settings: McpSettings,
    line: ConnectionState,
) -> AsyncIterator[McpConnection]:
    """A connection for the duration of the context. Raises ServerTrouble. The protocol's package is
    loaded on a thread, because that takes most of a second.
    """
    try:
        linked = await asyncio.to_thread(_linked)
    except ImportError as error:
        raise ServerTrouble(lack("mcp") or str(error)) from error
    async with linked(name, settings, base, place, line) as link:
        yield link


def _linked() -> Callable[..., AbstractAsyncContextManager[McpConnection]]:
    from nanobot.plugins.mcp.connection import linked  # noqa: PLC0415 - see connect

    return linked
