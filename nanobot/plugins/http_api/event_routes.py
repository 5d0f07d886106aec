"""Watching over HTTP: server-sent events of one session or of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from aiohttp import web

from nanobot.errors import NanobotError
from nanobot.plugins.common.http.admission import Admission, principal_of
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.requests import caller_of
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import QUIET, wanted
from nanobot.plugins.common.translation import known_language
from nanobot.plugins.http_api.session_routes import session_of
from nanobot.plugins.http_api.streams import Item
from nanobot.plugins.http_api.translated_items import item_in_language
from nanobot.plugins.http_api.watching import Watching

PATIENCE_SECONDS = 30.0
"""The longest that one write to a client that does not read may take."""
_HEADERS = {**QUIET, "X-Accel-Buffering": "no"}


class EventRoutes:
    """GET /api/sessions/KEY/events, GET /api/events."""

    def __init__(self, watching: Watching, admission: Admission) -> None:
        self._watching = watching
        self._admission = admission

    def routes(self) -> list[Route]:
        of_run, all_of_them = self._following(of_one_run=True), self._following(of_one_run=False)
        return [
            Route(method="GET", path="/api/sessions/{key}/events", handler=of_run),
            Route(method="GET", path="/api/events", handler=all_of_them),
        ]

    def _following(self, *, of_one_run: bool) -> Handler:
        async def follow(request: web.Request) -> web.StreamResponse:
            try:
                key = session_of(request) if of_one_run else None
                whose = None if of_one_run else caller_of(principal_of(request)).sessions
            except NanobotError as error:
                raise problem_of(error) from None
            after = request.headers.get("Last-Event-ID") or request.query.get("after", "")
            language = known_language(request.query.get("language", "")) or wanted(request)
            response = web.StreamResponse(headers=_HEADERS)
            response.content_type = "text/event-stream"
            await response.prepare(request)
            if request.method == "HEAD":
                return response
            with suppress(TimeoutError):  # the client does not read
                async with aclosing(self._watching.follow(key, after, whose)) as items:
                    await self._write(request, response, language, items)
            return response

        return follow

    async def _write(
        self,
        request: web.Request,
        response: web.StreamResponse,
        language: str,
        items: AsyncIterator[list[Item]],
    ) -> None:
        await _written(response, b"retry: 1000\n\n")
        async for batch in items:
            if not batch and not await self._admission.still(request):
                return
            said = [_event(item_in_language(item, language)) for item in batch]
            await _written(response, b"".join(said) or b":\n\n")


def _event(item: Item) -> bytes:
    return b"id: " + item.id.encode() + b"\ndata: " + item.data + b"\n\n"


async def _written(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await response.write(data)
