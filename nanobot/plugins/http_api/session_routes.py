"""Conversations over HTTP: reading ranges of entries, and sending messages."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta

from nanobot.addresses import MEMBERS_CHAT, called, chat_of
from nanobot.bus.gate import Gate
from nanobot.channels.intake import ChannelIntake
from nanobot.errors import RunConflict, UnknownId, UsageError
from nanobot.messages import WEB, Address, Attachment, InboundMessage, Role, Sender
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller
from nanobot.operations.parameters import LARGEST
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import allowed, caller_of, query_of, sent
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import answer, named_language, wanted
from nanobot.plugins.common.store.requested_runs import RequestedRuns
from nanobot.plugins.common.translation.results import in_language
from nanobot.plugins.common.views import sessions
from nanobot.plugins.common.views.notices import NoticeView, notices_of
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.plugins.http_api.streams import Streams
from nanobot.session.inbox import Admitted
from nanobot.text import MAX_TEXT, without_controls
from nanobot.visible import blank
from nanobot.workspace.received import FOLDER

_MOST_ENTRIES = 500
_USUAL_ENTRIES = 50
_Ids = Annotated[str, Meta(max_length=200)]


class Window(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entries: those before one, or after one, or the last."""

    before: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None
    after: Annotated[int, Meta(ge=0, le=LARGEST)] | None = None
    limit: Annotated[int, Meta(ge=1, le=_MOST_ENTRIES)] = _USUAL_ENTRIES


class Span(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which notices: the last, of those after that time."""

    since: Annotated[float, Meta(ge=0, le=LARGEST)] = 0.0
    limit: Annotated[int, Meta(ge=1, le=_MOST_ENTRIES)] = _USUAL_ENTRIES


class SentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that was uploaded, by what POST /api/uploads said of it."""

    blob: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    path: Annotated[str, Meta(max_length=1_000)] = ""
    name: Annotated[str, Meta(max_length=300)] = ""
    kind: Annotated[str, Meta(pattern="^(image|audio|video|document)$")] = "document"
    mime: Annotated[str, Meta(max_length=200)] = ""
    size: Annotated[int, Meta(ge=0, le=LARGEST)] = 0


class NewMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new message. The server accepts a `client_request_id` once. `deliver`: the answer also goes
    to the session's chat, if it has one; otherwise only clients see it."""

    text: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    client_request_id: _Ids = ""
    attachments: Annotated[tuple[SentFile, ...], Meta(max_length=20)] = ()
    deliver: bool = False


class TakenMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A stored message. `fresh` False: it was already stored, and its `inbound_id` is 0.
    `answered`: its answer is a separate message among the session's events, not the answer of a
    run."""

    session_key: str
    inbound_id: int
    key: str
    fresh: bool
    answered: bool = False
    stopped: bool = False


class SaidMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message over HTTP, for other watching clients: `by` is the id of its sender, `name` their
    name."""

    text: str
    by: str
    name: str
    attachments: tuple[SentFile, ...]
    taken: TakenMessage


class Conversations:
    """The routes for sessions by their keys. `intake` creates the entrance for a caller's messages,
    by the gate that admits them; `streams` announce each accepted message.
    """

    def __init__(
        self,
        operations: Dispatcher,
        intake: Callable[[Gate], ChannelIntake],
        streams: Streams,
    ) -> None:
        self._operations = operations
        self._intake = intake
        self._streams = streams

    def routes(self) -> list[Route]:
        at = "/api/sessions/{key}"
        return [
            Route(method="GET", path=f"{at}/entries", handler=refusing(self._entries)),
            Route(method="GET", path=f"{at}/notices", handler=refusing(self._notices)),
            Route(method="POST", path=f"{at}/messages", handler=refusing(self._take)),
        ]

    async def _entries(self, request: web.Request) -> web.StreamResponse:
        key, caller = session_of(request), caller_of(principal_of(request))
        window = query_of(request, Window)
        after = -1 if window.after is None else window.after
        row = await sessions.session_of(self._operations, caller, key)
        page = await sessions.log_page(
            self._operations, row, before=window.before or 0, after=after, limit=window.limit
        )
        return answer(200, in_language(page, SessionPage, wanted(request)))

    async def _notices(self, request: web.Request) -> web.StreamResponse:
        key = session_of(request)
        span = query_of(request, Span)
        rows = await notices_of(self._operations, key, since=span.since, limit=span.limit)
        return answer(200, in_language(rows, list[NoticeView], wanted(request)))

    async def _take(self, request: web.Request) -> web.StreamResponse:
        key, caller = session_of(request), caller_of(principal_of(request))
        try:
            message = msgspec.convert(await sent(request), NewMessage)
        except msgspec.ValidationError as error:
            raise UsageError(str(error)) from None
        return answer(200, await self.say(key, caller, message, named_language(request)))

    async def say(
        self, key: str, caller: Caller, message: NewMessage, language: str
    ) -> TakenMessage:
        """Accept a message into a session, from a client in that language. Raises NanobotError."""
        chat = chat_of(key)
        is_owner = caller.role is Role.OWNER
        members = key.startswith(f"{WEB}:{MEMBERS_CHAT}")
        others = members or not key.startswith(f"{WEB}:")
        if is_owner and others and not await self._exists(key):
            raise UnknownId(f"there is no session {key}; a new one is called web:NAME")
        if blank(message.text) and not message.attachments:
            raise UsageError("a message has a text or attachments")
        if message.deliver and is_owner and not message.attachments:
            return await self._delivered(key, message)
        name = message.client_request_id or os.urandom(12).hex()
        inbound = InboundMessage(
            address=Address(WEB, chat),
            message_id=name,
            dedupe_key=name,
            sender=Sender(caller.by, called(caller.name, caller.by)),
            text=message.text,
            sent_at=self._operations.engine.now(),
            attachments=tuple(map(_attached, message.attachments)),
            language=language,
            group=is_owner and members,  # an owner's memory does not belong to the member
        )
        (admitted,) = await self._intake(_gate(caller)).take([inbound], session=key)
        taken = _taken(key, name, admitted)
        if not taken.fresh:
            await self._check_same(inbound)
        else:
            event = SaidMessage(
                text=message.text,
                by=caller.by,
                name=caller.name,
                attachments=message.attachments,
                taken=taken,
            )
            self._streams.say("said", key, event)
        return taken

    async def _check_same(self, message: InboundMessage) -> None:
        """Raises RunConflict if another message was accepted under that id: this one must not be
        lost silently.
        """
        requested = RequestedRuns.over(self._operations.engine.bus.journal)
        earlier = await requested.outcome(message.address, message.dedupe_key)
        if earlier is None:
            return
        text, blobs = without_controls(message.text), [each.blob for each in message.attachments]
        if (earlier.message.text, [each.blob for each in earlier.message.attachments]) != (
            text,
            blobs,
        ):
            raise RunConflict(
                f"client_request_id {message.dedupe_key} was another message's: choose a new one"
            )

    async def _exists(self, key: str) -> bool:
        return await self._operations.engine.journal.session(key) is not None

    async def _delivered(self, key: str, message: NewMessage) -> TakenMessage:
        arguments = {"text": message.text, "session": key, "key": message.client_request_id}
        sent = await self._operations.call("send", arguments)
        return TakenMessage(
            session_key=key, inbound_id=sent.inbound_id, key=sent.key, fresh=sent.fresh
        )


def session_of(request: web.Request) -> str:
    """The session named in the path, which the caller must be allowed to see. Raises
    NanobotError.
    """
    return allowed(request.match_info["key"], caller_of(principal_of(request)))


def _gate(caller: Caller) -> Gate:
    """Admits only this caller, in their role."""
    by = (caller.by,)
    return Gate(
        by if caller.role is Role.OWNER else (),
        by if caller.role is Role.MEMBER else (),
        by if caller.role is Role.GUEST else (),
    )


def _attached(file: SentFile) -> Attachment:
    parts = file.path.split("/")
    kept = parts[0] == FOLDER and len(parts) == 3 and ".." not in parts
    # It is part of a line that the model reads.
    if file.path and not (kept and file.path.isprintable()):
        raise UsageError(f"{file.path[:80]!r} is not a path of an upload")
    return Attachment(
        kind=file.kind,
        name=file.name,
        mime=file.mime,
        size=file.size,
        blob=file.blob,
        path=file.path,
    )


def _taken(key: str, name: str, admitted: Admitted) -> TakenMessage:
    return TakenMessage(
        session_key=key,
        inbound_id=admitted.inbound_id,
        key=name,
        fresh=admitted.fresh,
        answered=admitted.owes is not None,
        stopped=admitted.stopped is not None,
    )
