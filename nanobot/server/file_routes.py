"""Files over HTTP: those that go with messages, and what they are kept as."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from urllib.parse import quote

from aiohttp import web

from nanobot.errors import BlobMissing, StoreUnwritable, UnknownId, UsageError
from nanobot.messages import Attachment, Role
from nanobot.server.admission import principal_of
from nanobot.server.application import Route
from nanobot.server.operation_routes import BODY_SECONDS, problem_of
from nanobot.server.session_routes import SentFile, all_sessions, refusing
from nanobot.server.wire import QUIET, answer, body_of
from nanobot.workspace.images import look
from nanobot.workspace.received import MAX_GIVEN, Received, safe_name

_POLICY = "default-src 'none'; sandbox"
_LONGEST = 300


class FileRoutes:
    """POST /api/uploads, GET /api/blobs/DIGEST."""

    def __init__(self, received: Received, now: Callable[[], float]) -> None:
        self._received = received
        self._now = now

    def routes(self) -> list[Route]:
        """Both of them."""
        return [
            Route(method="POST", path="/api/uploads", handler=refusing(self._take)),
            Route(method="GET", path="/api/blobs/{digest}", handler=refusing(self._give)),
        ]

    async def _take(self, request: web.Request) -> web.StreamResponse:
        """Keeps the body as a file called `name`; what it is, its bytes decide."""
        name = request.query.get("name", "")[:_LONGEST]
        content = await body_of(request, MAX_GIVEN, 4 * BODY_SECONDS)
        if not content:
            raise UsageError("a file has at least 1 byte")
        mime = mimetypes.guess_type(name)[0] or ""
        kind = mime.partition("/")[0]
        kind = kind if kind in ("audio", "video") else "document"
        sent = Attachment(kind, name=safe_name(name, kind, mime), mime=mime)
        outside = principal_of(request).role is not Role.OWNER
        kept = await self._received.keep(sent, content, self._now(), outside=outside)
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
        """The content of a file by its digest; only pictures are shown, all else is saved."""
        all_sessions(request)
        try:
            content = await self._received.blobs.read(request.match_info["digest"])
        except BlobMissing as error:
            raise UnknownId(str(error)) from None
        name = safe_name(request.query.get("name", "")[:_LONGEST], "file", "")
        image = look(content)
        how = "attachment" if image is None else "inline"
        headers = {
            **QUIET,
            "Cache-Control": "private, max-age=86400, immutable",
            "Content-Security-Policy": _POLICY,
            "Content-Disposition": f"{how}; filename*=UTF-8''{quote(name)}",
        }
        kind = "application/octet-stream" if image is None else image.mime
        return web.Response(body=content, content_type=kind, headers=headers)
