"""Where Discord gives files out: at addresses that expire."""

from __future__ import annotations

import itertools
from typing import Any

from aiohttp import web


class FileLinks:
    """Contents of files by their ids."""

    def __init__(self) -> None:
        self._links = itertools.count(1)
        self._contents: dict[str, bytes] = {}

    def keep(self, number: str, content: bytes) -> None:
        self._contents[number] = content

    def fresh(self, root: str, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The files with new addresses."""
        link = f"{root}/cdn/{next(self._links)}"
        return [file | {"url": f"{link}/{file['id']}"} for file in files]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        content = self._contents.get(request.match_info["file"])
        # Only the address that was given out last is good, as if the others had expired.
        current = next(self._links) - 1
        self._links = itertools.count(current + 1)
        if content is None or request.match_info["link"] != str(current):
            return web.Response(status=404)
        assert "Authorization" not in request.headers
        return web.Response(body=content)
