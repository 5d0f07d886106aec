"""Files over HTTP: uploads for messages, and stored files."""

from __future__ import annotations

import mimetypes
from functools import partial
from typing import Annotated
from urllib.parse import quote

import msgspec
from aiohttp import web
from msgspec import Meta

from nanobot.addresses import chat_of
from nanobot.errors import BlobMissing, StoreUnwritable, UnknownId, UsageError
from nanobot.messages import Attachment, Role
from nanobot.operations.engine import Engine
from nanobot.plugins.common.files.local_files import MAX_GIVEN
from nanobot.plugins.common.files.placed_files import safe_name
from nanobot.plugins.common.files.shown_files import ShownFiles
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.refusals import problem_of, refusing
from nanobot.plugins.common.http.requests import (
    BODY_SECONDS,
    allowed,
    caller_of,
    owners_only,
    query_of,
)
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import BINARY, BYTES, Media, RouteDescription
from nanobot.plugins.common.http.wire import QUIET, answer, body_of
from nanobot.plugins.common.store.named_files import NamedFiles
from nanobot.plugins.http_api.session_routes import SentFile
from nanobot.store.opening import Store
from nanobot.workspace.images import look
from nanobot.workspace.received import Received

_POLICY = "default-src 'none'; sandbox"
_LONGEST = 300
_PIECE = 256 * 1024


class FileName(msgspec.Struct, frozen=True, kw_only=True):
    """What a file is called, and where it was said."""

    name: Annotated[str, Meta(description="What the file is called.")] = ""
    session: Annotated[
        str, Meta(description="The conversation that has it. Only owners may leave it out.")
    ] = ""


class FilePath(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which file of the workspace, by its path there."""

    path: Annotated[str, Meta(min_length=1, max_length=4_096)]


WORKSPACE = RouteDescription(
    method="get",
    path="/api/workspace",
    name="workspace_file",
    summary="Gives a file of the workspace; pictures to be shown, all else to be saved.",
    query=FilePath,
    answers={BYTES: Media(schema=BINARY), "image/*": Media(schema=BINARY)},
    refusals=(400, 403, 404, 409),
)


class FileRoutes:
    """POST /api/uploads, GET /api/blobs/DIGEST, and where people see the workspace, GET
    /api/workspace?path=PATH."""

    def __init__(
        self, received: Received, engine: Engine, store: Store, shown: ShownFiles | None
    ) -> None:
        self._received = received
        self._files = NamedFiles(store.database, store.writer)
        self._shown = shown
        self._now = engine.now

    def routes(self) -> list[Route]:
        routes = [
            Route(method="POST", path="/api/uploads", handler=refusing(self._take)),
            Route(method="GET", path="/api/blobs/{digest}", handler=refusing(self._give)),
        ]
        if self._shown is not None:
            opening = refusing(partial(self._open, self._shown))
            routes.append(
                Route(method="GET", path=WORKSPACE.path, handler=opening, described=WORKSPACE)
            )
        return routes

    async def _take(self, request: web.Request) -> web.StreamResponse:
        """Store the body as a file called `name`; its type is determined from its bytes."""
        name = request.query.get("name", "")[:_LONGEST]
        content = await body_of(request, MAX_GIVEN, 4 * BODY_SECONDS)
        if not content:
            raise UsageError("a file has at least 1 byte")
        mime = mimetypes.guess_type(name)[0] or ""
        kind = mime.partition("/")[0]
        kind = kind if kind in ("audio", "video") else "document"
        sent = Attachment(kind, name=safe_name(name, kind, mime), mime=mime)
        # An owner's uploads are also passed on.
        kept = await self._received.keep(sent, content, self._now(), outside=True)
        if not kept.blob:
            raise problem_of(StoreUnwritable(kept.error))
        file = SentFile(
            blob=kept.blob,
            path=kept.path,
            name=kept.name,
            kind=kept.kind,
            mime=kept.mime,
            size=kept.size,
        )
        return answer(200, file)

    async def _give(self, request: web.Request) -> web.StreamResponse:
        """The content of a file by its digest, for owners, and for callers with a conversation that
        contains it. Pictures are displayed, everything else is downloaded.
        """
        digest, session = request.match_info["digest"], request.query.get("session", "")
        if principal_of(request).role is not Role.OWNER:
            session = allowed(session, caller_of(principal_of(request)))
            if not await self._files.names(session, chat_of(session), digest):
                raise UnknownId(f"{session} has no such file")
        try:
            content = await self._received.blobs.read(digest)
        except BlobMissing as error:
            raise UnknownId(str(error)) from None
        name = safe_name(request.query.get("name", "")[:_LONGEST], "file", "")
        kind, headers = _head(name, content)
        headers["Cache-Control"] = "private, max-age=86400, immutable"
        return web.Response(body=content, content_type=kind, headers=headers)

    async def _open(self, shown: ShownFiles, request: web.Request) -> web.StreamResponse:
        """A file of the workspace, complete as of when it is opened; displayed or downloaded as
        above.
        """
        owners_only(request)
        path = query_of(request, FilePath).path
        file = await shown.opened(path)
        try:
            first = await file.read(0, _PIECE)
            kind, headers = _head(file.name, first)
            response = web.StreamResponse(headers=headers)
            response.content_type = kind
            response.content_length = file.size
            await response.prepare(request)
            at = 0
            while first and at < file.size:  # leaves out bytes that are appended meanwhile
                piece = first[: file.size - at]
                await response.write(piece)
                at += len(piece)
                first = await file.read(at, _PIECE)
            await response.write_eof()
        finally:
            file.close()
        return response


def _head(name: str, content: bytes) -> tuple[str, dict[str, str]]:
    """The type and headers of a file that starts with these bytes: pictures are displayed,
    everything else is downloaded.
    """
    image = look(content)
    how = "attachment" if image is None else "inline"
    headers = {
        **QUIET,
        "Content-Security-Policy": _POLICY,
        "Content-Disposition": f"{how}; filename*=UTF-8''{quote(name, safe='')}",
    }
    return "application/octet-stream" if image is None else image.mime, headers
