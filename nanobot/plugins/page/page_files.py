"""The files of the page: one set under a unique name, so that files of two versions never mix."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from aiohttp import web

from nanobot import __version__
from nanobot.plugins.common.http.path_prefix import own_path, prefix_of
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import QUIET, Problem

FOLDER = Path(__file__).parent / "files"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGES = {
    "/": "index.html",
    "/docs": "docs.html",
    "/sw.js": "sw.js",
    "/manifest.webmanifest": "manifest.webmanifest",
}
_DIGEST = "DIGEST"
"""The placeholder for the name of the set in the last two of them."""
_COMPRESSED = ("text/", "application/json", "application/javascript", "image/svg+xml")
_KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".webmanifest": "application/json"}
_FOR_GOOD = "private, max-age=31536000, immutable"
_MOST_PAGES = 16
_REFERENCE = re.compile(r'\b(href|src)="([^"]+)"')


class _File(msgspec.Struct):
    """One file, and its compressed form (b"": compression does not make it smaller; None: not tried
    yet).
    """

    kind: str
    plain: bytes
    packed: bytes | None = None


class PageFiles:
    """All files of `folder` as they are now, and below `plugins/` those of the `added` folders. Its
    HTML pages refer to the others below
    `/page/DIGEST/`, which changes with any of them and with the `version`: a page never gets a file
    of another version, and browsers can cache each file permanently.
    """

    def __init__(
        self,
        folder: Path = FOLDER,
        version: str = __version__,
        added: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        self._files = _read(folder, "")
        for name, more in added.items():
            self._files |= _read(more, f"plugins/{name}/")
        names = [f"{name} {_digest(file.plain)}" for name, file in self._files.items()]
        self.digest = _digest("\n".join([version, *names]).encode())[:16]
        self._pages: OrderedDict[tuple[str, str], _File] = OrderedDict()

    def routes(self) -> list[Route]:
        """`/` is its index.html, `/docs` its docs.html; the files that a phone installs are at `/`
        too. Every other file is `/page/DIGEST/NAME`.
        """
        pages = [
            Route(method="GET", path=path, handler=self._page, open=True, whole=True)
            for path, name in _PAGES.items()
            if name in self._files
        ]
        files = "/page/{digest}/{name:.+}"
        others = Route(method="GET", path=files, handler=self._give, open=True, whole=True)
        return [*pages, others]

    def _page_of(self, name: str, prefix: str) -> _File:
        """A page with URLs of the other files below the prefix. Without a prefix, the URLs are
        relative to the page: a proxy may have removed a prefix without reporting it.
        """
        known = self._pages.pop((name, prefix), None)
        before = f"{prefix}/" if prefix else ""

        def named(match: re.Match[str]) -> str:
            attribute, other = match.groups()
            if other in _PAGES.values():
                return f'{attribute}="{before}{other}"'
            if other not in self._files:
                return match[0]
            return f'{attribute}="{before}page/{self.digest}/{other}"'

        if known is None:
            text = self._files[name].plain.decode()
            if name.endswith(".html"):
                text = _REFERENCE.sub(named, text)
            else:
                text = text.replace(_DIGEST, self.digest)
            known = _File(self._files[name].kind, text.encode())
        self._pages[name, prefix] = known
        while len(self._pages) > _MOST_PAGES:
            self._pages.popitem(last=False)
        return known

    async def _page(self, request: web.Request) -> web.StreamResponse:
        file = self._page_of(_PAGES[own_path(request)], prefix_of(request))
        etag = f'"{_digest(file.plain)[:32]}{"-gz" if _packs(request) else ""}"'
        headers = {**QUIET, "Cache-Control": "no-cache", "ETag": etag, "Vary": "Accept-Encoding"}
        if etag in (tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")):
            return web.Response(status=304, headers={**headers, "Content-Security-Policy": POLICY})
        return await _answer(request, file, headers)

    async def _give(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["digest"] != self.digest:
            raise Problem(404, "other_version", "The page is another version now: reload it.")
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise Problem(404, "not_found", "There is nothing here.")
        return await _answer(request, file, {**QUIET, "Cache-Control": _FOR_GOOD})


def _read(folder: Path, prefix: str) -> dict[str, _File]:
    """The files in a folder, by their paths after the prefix."""
    return {
        prefix + path.relative_to(folder).as_posix(): _File(_kind_of(path), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def _kind_of(path: Path) -> str:
    return _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _packs(request: web.Request) -> bool:
    taken = request.headers.get("Accept-Encoding", "").lower().split(",")
    return "gzip" in (part.partition(";")[0].strip() for part in taken)


async def _answer(request: web.Request, file: _File, headers: dict[str, str]) -> web.Response:
    if file.packed is None and file.kind.startswith(_COMPRESSED):
        packed = await asyncio.to_thread(gzip.compress, file.plain, 9, mtime=0)
        file.packed = packed if len(packed) < len(file.plain) else b""
    headers = {**headers, "Content-Security-Policy": POLICY, "Vary": "Accept-Encoding"}
    body = file.plain
    if file.packed and _packs(request):
        headers["Content-Encoding"], body = "gzip", file.packed
    text = file.kind.startswith("text/")
    return web.Response(
        body=body, headers=headers, content_type=file.kind, charset="utf-8" if text else None
    )
