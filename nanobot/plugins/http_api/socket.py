"""/ws: the whole API over one connection, one JSON object per message in each direction. A request
with a `key` is answered with the same `key`, in the `language` that it names, else in that of the
connection.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import Annotated, Any, TypeAlias

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Meta

from nanobot.boundary import boundary
from nanobot.errors import NanobotError, UsageError
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller
from nanobot.plugins.common.http.admission import Admission, principal_of
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.requests import BODY_LIMIT, allowed, caller_of
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import Problem, failed, named_language, wanted
from nanobot.plugins.common.translation import known_language
from nanobot.plugins.common.translation.results import in_language
from nanobot.plugins.http_api.session_routes import Conversations, NewMessage
from nanobot.plugins.http_api.translated_items import item_in_language
from nanobot.plugins.http_api.watching import Watching

PATIENCE_SECONDS = 30.0
_HEARTBEAT_SECONDS = 30.0
_MOST_FOLLOWED = 50
_SOON_SECONDS = 1.0
_MOST_SLOW = 4
_Key: TypeAlias = Annotated[str, Meta(max_length=200)]
_Language: TypeAlias = Annotated[str, Meta(max_length=100)]


class Follow(msgspec.Struct, frozen=True, tag="follow", tag_field="op"):
    """Tell what happens in a session ("": in all that the caller may see), after the item with that
    id."""

    session: str
    after: str = ""
    key: _Key = ""
    language: _Language = ""


class Leave(msgspec.Struct, frozen=True, tag="leave", tag_field="op"):
    """Tell no more of it."""

    session: str
    key: _Key = ""


class Say(msgspec.Struct, frozen=True, tag="say", tag_field="op"):
    """Say something in a session; see NewMessage."""

    session: str
    message: NewMessage
    key: _Key = ""
    language: _Language = ""


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="op"):
    """Perform an operation."""

    name: str
    arguments: dict[str, Any] = {}
    key: _Key = ""
    language: _Language = ""


_Request: TypeAlias = Follow | Leave | Say | Call
_requests: msgspec.json.Decoder[_Request] = msgspec.json.Decoder(_Request)


class Socket:
    """The route for it, over one gateway."""

    def __init__(
        self,
        operations: Dispatcher,
        conversations: Conversations,
        watching: Watching,
        admission: Admission,
    ) -> None:
        self.operations = operations
        self.conversations = conversations
        self.watching = watching
        self.admission = admission

    def route(self) -> Route:
        return Route(method="GET", path="/ws", handler=self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if principal_of(request).csrf and "Origin" not in request.headers:
            raise Problem(403, "csrf", "A browser says from which page it asks.")
        socket = web.WebSocketResponse(
            heartbeat=_HEARTBEAT_SECONDS, max_msg_size=BODY_LIMIT, compress=False
        )
        if not socket.can_prepare(request).ok:
            raise Problem(426, "upgrade_required", "Ask as a WebSocket.", {"Upgrade": "websocket"})
        await socket.prepare(request)
        with boundary("a WebSocket"):
            await _Connection(self, request, socket).converse()
        await socket.close()
        return socket


class _Connection:
    """One connection."""

    def __init__(self, route: Socket, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._route = route
        self._request = request
        self._socket = socket
        self._caller: Caller = caller_of(principal_of(request))
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._slow: set[asyncio.Task[None]] = set()

    async def converse(self) -> None:
        """Run until one side disconnects."""
        async with asyncio.TaskGroup() as tasks:
            try:
                # Within the task group, which would wrap it: a client that disconnects is not a
                # failure.
                with suppress(ConnectionError):
                    async for message in self._socket:
                        if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                            await self._obey(message.data, tasks)
            finally:
                for task in self._followed.values():
                    task.cancel()

    async def _obey(self, data: str | bytes, tasks: asyncio.TaskGroup) -> None:
        """Answer a request before the next one is read. One that takes longer than a second is
        answered when it ends; a few of these may be in progress at a time.
        """
        task = tasks.create_task(self._answer(data, tasks), name="web: a request")
        await asyncio.wait({task}, timeout=_SOON_SECONDS)
        self._slow = {each for each in {*self._slow, task} if not each.done()}
        if len(self._slow) >= _MOST_SLOW:
            await asyncio.wait(self._slow, return_when=asyncio.FIRST_COMPLETED)

    async def _answer(self, data: str | bytes, tasks: asyncio.TaskGroup) -> None:
        try:
            await self._answered(data, tasks)
        except ConnectionError:
            await self._socket.close()

    async def _answered(self, data: str | bytes, tasks: asyncio.TaskGroup) -> None:
        keyed = _keyed(data)
        answer, problem = b"", failed()
        with boundary("a request over a WebSocket"):
            try:
                await self._route.admission.admit(self._request, page=False)
                result = await self._result(_decoded(data), self._language(keyed), tasks)
                said = {"type": "result", "key": keyed.key, "result": result}
                answer = msgspec.json.encode(said)
            except Problem as refusal:
                problem = refusal
            except NanobotError as error:
                problem = problem_of(error)
        if answer:
            await self._send(answer)
        else:
            await self._refuse(keyed, problem)

    def _language(self, keyed: _Keyed) -> str:
        return known_language(keyed.language) or wanted(self._request)

    async def _refuse(self, keyed: _Keyed, problem: Problem) -> None:
        body = problem.for_path(self._request.path, self._language(keyed))
        await self._send(msgspec.json.encode({"type": "error", "key": keyed.key, **body}))

    async def _result(self, request: _Request, language: str, tasks: asyncio.TaskGroup) -> Any:
        match request:
            case Follow():
                return self._follow(request, language, tasks)
            case Leave(session):
                if (task := self._followed.pop(session, None)) is not None:
                    task.cancel()
                return task is not None
            case Say(session, message):
                session = allowed(session, self._caller)
                say = self._route.conversations.say
                named = known_language(request.language) or named_language(self._request)
                return await say(session, self._caller, message, named)
            case Call(name, arguments):
                result = await self._route.operations.call(name, arguments, self._caller)
                operation = self._route.operations.named(name)
                return in_language(result, operation.translated_as, language)

    def _follow(self, request: Follow, language: str, tasks: asyncio.TaskGroup) -> bool:
        session = request.session
        if session:
            allowed(session, self._caller)
        if session in self._followed:
            raise UsageError("you already follow that")
        if len(self._followed) >= _MOST_FOLLOWED:
            raise UsageError(f"you already follow {_MOST_FOLLOWED}: leave some first")
        telling = self._tell(session, request.after, language)
        self._followed[session] = tasks.create_task(telling, name="web: following")
        return True

    async def _tell(self, session: str, after: str, language: str) -> None:
        with boundary("following a session"), suppress(ConnectionError):
            whose = None if session else self._caller.sessions
            following = self._route.watching.follow(session or None, after, whose)
            async with aclosing(following) as items:
                async for batch in items:
                    if not batch and not await self._route.admission.still(self._request):
                        break
                    for item in batch:
                        await self._send(item_in_language(item, language).data)
        await self._socket.close()

    async def _send(self, data: bytes) -> None:
        """Raises ConnectionError, also for a client that does not read."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._socket.send_str(data.decode())
        except TimeoutError:
            raise ConnectionResetError("nobody reads") from None


class _Keyed(msgspec.Struct, frozen=True):
    key: _Key = ""
    language: _Language = ""


_keys = msgspec.json.Decoder(_Keyed)


def _keyed(data: str | bytes) -> _Keyed:
    """The `key` and the language for the answer, even if the rest is not a valid request."""
    try:
        return _keys.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Keyed()


def _decoded(data: str | bytes) -> _Request:
    try:
        return _requests.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError(f"not a request: {error}") from None
