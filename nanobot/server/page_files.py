"""The files of the page, as they lie in `page/`: with ETags, compressed where that is taken."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
from pathlib import Path

import msgspec
from aiohttp import web

from nanobot.server.application import Handler, Route
from nanobot.server.wire import QUIET

FOLDER = Path(__file__).parent / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_COMPRESSED = ("text/", "application/json", "application/javascript", "image/svg+xml")
_KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".webmanifest": "application/json"}


class _File(msgspec.Struct, frozen=True):
    """One file: as it is, and compressed if that makes it smaller."""

    kind: str
    etag: str
    plain: bytes
    packed: bytes


def page_routes(folder: Path = FOLDER) -> list[Route]:
    """`/` is its index.html, `/docs` its docs.html, every other file is there by its name. What is
    changed while it is served is read again; what is added, with the next start."""
    cached: dict[Path, tuple[int, _File]] = {}

    def read(path: Path) -> _File:
        changed = path.stat().st_mtime_ns
        if path not in cached or cached[path][0] != changed:
            cached[path] = (changed, _read(path))
        return cached[path][1]

    def serving(path: Path) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            return _answer(request, await asyncio.to_thread(read, path))

        return serve

    routes = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            name = path.relative_to(folder).as_posix()
            name = {"index.html": "", "docs.html": "docs"}.get(name, name)
            handler = serving(path)
            routes.append(Route(method="GET", path=f"/{name}", handler=handler, open=True))
    return routes


def _read(path: Path) -> _File:
    plain = path.read_bytes()
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    kind = kind or "application/octet-stream"
    packed = gzip.compress(plain, 9, mtime=0) if kind.startswith(_COMPRESSED) else plain
    etag = hashlib.sha256(plain).hexdigest()[:32]
    return _File(kind, etag, plain, packed if len(packed) < len(plain) else b"")


def _answer(request: web.Request, file: _File) -> web.Response:
    taken = request.headers.get("Accept-Encoding", "").lower()
    packs = bool(file.packed) and "gzip" in (part.strip() for part in taken.split(","))
    etag = f'"{file.etag}{"-gz" if packs else ""}"'
    headers = {
        **QUIET,
        "Cache-Control": "no-cache",
        "Content-Security-Policy": POLICY,
        "ETag": etag,
        "Vary": "Accept-Encoding",
    }
    if etag in (tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")):
        return web.Response(status=304, headers=headers)
    if packs:
        headers["Content-Encoding"] = "gzip"
    text = file.kind.startswith("text/")
    return web.Response(
        body=file.packed if packs else file.plain,
        headers=headers,
        content_type=file.kind,
        charset="utf-8" if text else None,
    )
