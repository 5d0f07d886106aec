"""The download of an export over HTTP, for owners."""

from __future__ import annotations

import re
from contextlib import aclosing
from urllib.parse import quote

import msgspec
from aiohttp import web
from loguru import logger

from nanobot.errors import NanobotError
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import query_of
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import QUIET
from nanobot.plugins.proof.commands import After, Kinds, Matching
from nanobot.plugins.proof.exporting import Export
from nanobot.plugins.proof.redaction import Redaction
from nanobot.plugins.proof.store.log_rows import LogPages
from nanobot.store.opening import Store


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of a download, as those of `audit export`."""

    session: str
    redact: Kinds = ""
    redact_matching: Matching = ""
    after: After = 0


def routes(store: Store) -> list[Route]:
    """GET /plugins/proof/export?session=KEY."""
    pages = LogPages(store.database, store.writer)

    async def give(request: web.Request) -> web.StreamResponse:
        wanted: Wanted = query_of(request, Wanted)
        redaction = Redaction(wanted.redact, wanted.redact_matching)
        export = Export(pages, wanted.session, redaction, wanted.after)
        name = f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', wanted.session)}.jsonl"
        headers = {
            **QUIET,
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        }
        response = web.StreamResponse(headers=headers)
        response.content_type = "application/jsonl"
        try:
            async with aclosing(export.lines()) as lines:
                async for some in lines:
                    if not response.prepared:
                        await response.prepare(request)
                    await response.write(some)
        except NanobotError as error:
            if not response.prepared:
                raise
            logger.warning("an export of {} ends early: {}", wanted.session, error)
            raise ConnectionResetError(str(error)) from None  # no last line: it does not verify
        await response.write_eof()
        return response

    return [Route(method="GET", path="/export", handler=refusing(give))]
