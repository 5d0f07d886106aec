"""The routes of the HTTP API that are no operations, described for people and programs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.plugins.common.http.descriptions import HEALTH, METRICS
from nanobot.plugins.common.http.route_description import (
    BINARY,
    BYTES,
    EVENTS,
    JSON,
    TYPED,
    Media,
    RouteDescription,
    json_of,
)
from nanobot.plugins.common.views.notices import NoticeView
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.plugins.http_api.file_routes import WORKSPACE, FileName
from nanobot.plugins.http_api.login import LOGIN, LOGOUT, Me
from nanobot.plugins.http_api.session_routes import NewMessage, SentFile, Span, TakenMessage, Window
from nanobot.plugins.http_api.stream_schemas import (
    OverviewItem,
    SessionItem,
    SocketAnswer,
    SocketRequest,
)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The position to continue from."""

    after: Annotated[
        str, Meta(description="The id of the last item that is known; empty: from a snapshot on.")
    ] = ""
    language: Annotated[
        str, Meta(description="The language of nanobot's sentences, before Accept-Language.")
    ] = ""


class LastEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The position to continue from, in the header that browsers send."""

    last_event_id: Annotated[str, Meta(description="The same as `after`, and before it.")] = (
        msgspec.field(default="", name="Last-Event-ID")
    )


_ME = RouteDescription(
    method="get", path="/api/me", name="me", summary="Says who asks.", answers=json_of(Me)
)

_SESSIONS = (
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/entries",
        name="session_entries",
        summary="Shows entries of a conversation by range.",
        query=Window,
        answers=json_of(SessionPage),
        refusals=(400, 404),
    ),
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/notices",
        name="session_notices",
        summary="Lists answers outside the log of a conversation: to commands, and refusals.",
        query=Span,
        answers=json_of(list[NoticeView]),
        refusals=(400, 404),
    ),
    RouteDescription(
        method="post",
        path="/api/sessions/{key}/messages",
        name="session_messages",
        summary="Says something in a conversation, once for each client_request_id.",
        takes=json_of(NewMessage),
        answers=json_of(TakenMessage),
        refusals=(*TYPED, 404, 409),
    ),
    RouteDescription(
        method="get",
        path="/api/sessions/{key}/events",
        name="session_events",
        summary="Tells what happens in a conversation, from a snapshot or an item on.",
        query=Position,
        headers=LastEvent,
        answers={EVENTS: Media(events=SessionItem)},
        refusals=(404,),
    ),
    RouteDescription(
        method="get",
        path="/api/events",
        name="events",
        summary="Tells what happens in all conversations, without single tokens.",
        query=Position,
        headers=LastEvent,
        answers={EVENTS: Media(events=OverviewItem)},
    ),
    RouteDescription(
        method="get",
        path="/ws",
        name="websocket",
        summary="Does everything over one WebSocket, one JSON object a message.",
        status=101,
        refusals=(426,),
        websocket={
            "request": SocketRequest,
            "answer": SocketAnswer,
            "item": SessionItem,
            "item_of_all": OverviewItem,
        },
    ),
)

_FILES = (
    RouteDescription(
        method="post",
        path="/api/uploads",
        name="uploads",
        summary="Keeps the body as a file that can go with a message.",
        query=FileName,
        takes={BYTES: Media(schema={})},
        answers=json_of(SentFile),
        refusals=TYPED,
    ),
    RouteDescription(
        method="get",
        path="/api/blobs/{digest}",
        name="blobs",
        summary="Gives a file by its digest; pictures to be shown, all else to be saved.",
        query=FileName,
        answers={BYTES: Media(schema=BINARY), "image/*": Media(schema=BINARY)},
        refusals=(404,),
    ),
)

_OPENAPI = RouteDescription(
    method="get",
    path="/openapi.json",
    name="openapi",
    summary="Describes all this.",
    answers={JSON: Media(schema={"type": "object"})},
    refusals=(503,),
    open=True,
)

DESCRIPTIONS = (_ME, *_SESSIONS, *_FILES, METRICS, *HEALTH, _OPENAPI)
"""The routes of the HTTP API that are always served."""
SERVED_WITH_OTHERS = (LOGIN, LOGOUT, WORKSPACE)
"""Those that need another plugin, and describe themselves where it is on."""
