"""Large results are encoded in pieces: nobody waits for the export of another."""

from __future__ import annotations

import aiohttp
import msgspec
import pytest
from aiohttp import web

from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import answer
from nanobot.plugins.common.views.encoding import encoded, is_large, pieces
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.sessions import SessionPage
from nanobot.plugins.common.views.views import SessionView
from tests.server.serving import Bench


def page(count: int) -> SessionPage:
    session = SessionView(
        key="telegram:1",
        title="“quoted” \\ and\nlines",
        has_unread=False,
        updated_at=1.0,
        created_at=1.0,
        model=None,
        entries=count,
        waiting=0,
        run=None,
    )
    body = {"type": "user", "text": "word " * 100, "calls": [{"a": 1}] * 5}
    entries = [EntryView(seq=n, run_id="r", at=1.0, kind="user", body=body) for n in range(count)]
    return SessionPage(session=session, entries=tuple(entries))


@pytest.mark.parametrize("count", [0, 1, 200, 201, 1_001])
async def test_a_result_in_pieces_is_what_it_is_in_one(count: int) -> None:
    whole = page(count)
    for value in (whole, list(whole.entries), whole.entries, {"a": [1] * count}, "text", None):
        assert await encoded(value) == msgspec.json.encode(value)
        assert b"".join([piece async for piece in pieces(value)]) == msgspec.json.encode(value)


class Tagged(msgspec.Struct, tag="x", omit_defaults=True, rename="camel"):
    """An object that is more than its fields by their names."""

    some_items: list[int]
    other: int = 0


async def test_what_is_more_than_its_fields_is_encoded_in_one_piece() -> None:
    value = Tagged([1] * 1_000)
    assert not is_large(value)
    assert await encoded(value) == msgspec.json.encode(value)


async def test_an_export_of_20_000_entries_lets_others_have_their_turn() -> None:
    sizes = [len(piece) async for piece in pieces(page(20_000))]
    assert len(sizes) > 100
    assert max(sizes) < 200_000, "msgspec encodes so much in about a millisecond"


async def test_a_large_answer_is_whole_over_http() -> None:
    async def export(_: web.Request) -> web.StreamResponse:
        return answer(200, page(1_000))

    route = Route(method="GET", path="/api/export", handler=export, open=True)
    async with (
        Bench().serving(more=[route]) as server,
        aiohttp.ClientSession() as session,
        session.get(f"{server.url}/api/export") as response,
    ):
        assert response.status == 200
        assert response.content_type == "application/json"
        assert await response.read() == msgspec.json.encode(page(1_000))
