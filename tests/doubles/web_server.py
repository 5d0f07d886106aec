"""A web site of strangers on loopback, kind or hostile: pages, redirects, bombs, slow answers.

In a test:   async with WebServer() as web: web.page("/x", b"...", "text/html"); web.url("/x")

The site is at 127.0.0.1, which the tests permit as if it were public (`PUBLIC`); the same port of
127.0.0.2 is served too and stands for a private machine: `private_hits` must stay empty. Names are
whatever `names` says, and an entry with several lists of addresses gives the next at each look-up.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

PUBLIC = "127.0.0.1"
PRIVATE = "127.0.0.2"


@dataclass(frozen=True)
class Page:
    """One answer. `pieces` (with `body` empty) come one by one; `endless`: again and again;
    `hang`: after what there is, nothing more, and the connection stays open."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    endless: bool = False
    hang: bool = False


class WebServer:
    """See the module's docstring. `asked` holds (host header, path) of every request."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.private_hits: list[str] = []
        self.names: dict[str, list[list[str]]] = {}
        self.looked_up: dict[str, int] = defaultdict(int)
        self.json: list[object] = []
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        self.port = 0
        self._runner: web.AppRunner | None = None

    def page(self, path: str, body: bytes, kind: str = "text/html; charset=utf-8") -> str:
        """Serve a page; its URL."""
        self.pages[path] = Page(body, kind)
        return self.url(path)

    def redirect(self, path: str, target: str, status: int = 302) -> str:
        """Serve a redirect; its URL."""
        self.pages[path] = Page(status=status, headers={"Location": target})
        return self.url(path)

    def url(self, path: str, host: str = PUBLIC) -> str:
        return f"http://{host}:{self.port}{path}"

    async def look_up(self, name: str) -> list[str]:
        """What the resolver of the tests says."""
        answers = self.names.get(name)
        if answers is None:
            raise OSError(f"no such name: {name}")
        count = self.looked_up[name]
        self.looked_up[name] += 1
        return answers[min(count, len(answers) - 1)]

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._answer)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, PUBLIC, 0).start()
        self.port = self._runner.addresses[0][1]
        await web.TCPSite(self._runner, PRIVATE, self.port).start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        where = request.transport.get_extra_info("sockname")[0] if request.transport else PRIVATE
        if where == PRIVATE:
            self.private_hits.append(request.path)
            return web.Response(text="the private machine's secret")
        self.asked.append((request.headers.get("Host", ""), request.path_qs))
        self.headers.append(dict(request.headers))
        self.arrived.set()
        if request.method == "POST":
            self.json.append(await request.json())
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="nothing here")
        headers = {"Content-Type": page.kind, **page.headers}
        if not page.kind:
            del headers["Content-Type"]
        response = web.StreamResponse(status=page.status, headers=headers)
        await response.prepare(request)
        try:
            async for piece in _pieces(page):
                await response.write(piece)
        except (asyncio.CancelledError, ConnectionError):
            self.left.set()
            raise
        return response


async def _pieces(page: Page) -> AsyncIterator[bytes]:
    if page.body:
        yield page.body
    while True:
        for piece in page.pieces:
            yield piece
            await asyncio.sleep(0)
        if not page.endless:
            break
    if page.hang:
        await asyncio.Event().wait()


def bomb(size: int) -> Page:
    """A page of `size` bytes in about a thousandth of that."""
    return Page(gzip.compress(b"a" * size), "text/plain", headers={"Content-Encoding": "gzip"})


def pdf(*texts: str, title: str = "") -> bytes:
    """A PDF with a page for each text (Latin letters)."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(texts)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(texts):
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    return (
        data
        + (
            f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n"
            f"<< /Size {count} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
            f"startxref\n{len(data)}\n%%EOF\n"
        ).encode()
    )
