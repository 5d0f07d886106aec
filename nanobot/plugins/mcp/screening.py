"""Screens lists of tools: the protocol's package rejects a whole list, and with it the server, if
one tool violates the protocol.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import mcp_types as types
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

from nanobot.plugins.mcp import tool_names as offer

_LIST = "tools/list"
S = TypeVar("S", ReadStream[SessionMessage | Exception], WriteStream[SessionMessage])


@asynccontextmanager
async def screened(
    transport: AbstractAsyncContextManager[TransportStreams],
) -> AsyncIterator[TransportStreams]:
    """The same transport; its lists contain only tools with a name, and with a schema that the
    protocol accepts.
    """
    async with transport as (heard, outbox):
        requests: set[types.RequestId] = set()
        yield _Incoming(heard, requests), _Outgoing(outbox, requests)


class _Wrapped(Generic[S]):
    """A stream that opens and closes the wrapped one."""

    def __init__(self, inner: S, requests: set[types.RequestId]) -> None:
        self._inner: S = inner
        self._requests = requests

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        handled: bool | None = await self._inner.__aexit__(kind, error, trace)
        return handled


class _Outgoing(_Wrapped[WriteStream[SessionMessage]]):
    """Remembers requests for tools."""

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCRequest) and message.method == _LIST:
            self._requests.add(message.id)
        await self._inner.send(item)


class _Incoming(_Wrapped[ReadStream[SessionMessage | Exception]]):
    """Corrects the answers to these requests."""

    @property
    def last_context(self) -> Any:
        """Required by the protocol's package."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._mended(await self._inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._mended(await self._inner.__anext__())

    def _mended(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception) or not isinstance(item.message, types.JSONRPCResponse):
            return item
        answer = item.message
        listed = answer.result.get("tools")
        if answer.id not in self._requests or not isinstance(listed, list):
            return item
        self._requests.discard(answer.id)
        tools = [offered for entry in listed if (offered := tool(entry)) is not None]
        mended = answer.model_copy(update={"result": {**answer.result, "tools": tools}})
        return SessionMessage(message=mended, metadata=item.metadata)


def tool(entry: Any) -> dict[str, Any] | None:
    """The used fields of a listed tool; None for one without a name."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    offered = {"name": entry["name"], "inputSchema": _schema(entry.get("inputSchema"))}
    offered |= {
        key: entry[key] for key in ("title", "description") if isinstance(entry.get(key), str)
    }
    notes = entry.get("annotations")
    if isinstance(notes, dict) and isinstance(notes.get("readOnlyHint"), bool):
        offered["annotations"] = {"readOnlyHint": notes["readOnlyHint"]}
    return offered


def _schema(schema: Any) -> dict[str, Any]:
    """The schema, unchanged if the protocol accepts it, because it may say how calls are sent."""
    if not isinstance(schema, dict):
        return offer.schema({})
    fields, required = schema.get("properties", {}), schema.get("required", [])
    fits = (
        schema.get("type") == "object"
        and isinstance(fields, dict)
        and all(isinstance(value, dict | bool) for value in fields.values())
        and isinstance(required, list)
        and all(isinstance(value, str) for value in required)
    )
    return schema if fits else offer.schema(schema)
