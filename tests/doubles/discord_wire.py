"""Requests and answers of Discord's HTTP API, and how they go wrong."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from aiohttp import BodyPartReader, web

from tests.doubles.platform_server import Fault

_WRITING = {
    "POST /channels/{channel}/messages",
    "PATCH /channels/{channel}/messages/{message}",
}


@dataclass(kw_only=True)
class DiscordFault(Fault):
    """How calls of a route ("POST /channels/{channel}/messages") go wrong, the next one unless
    told otherwise. `scope` of a rate limit: "user" or "global"."""

    times: int | None = 1
    code: int = 0
    message: str = "error"
    scope: str = "user"


@dataclass
class Call:
    """A request that arrived: what it is for, where, and its JSON."""

    route: str
    parts: dict[str, str]
    json: Any
    files: list[tuple[str, bytes]]


async def read_call(route: str, request: web.Request) -> Call:
    parts = dict(request.match_info) | dict(request.query)
    files: list[tuple[str, bytes]] = []
    data: Any = None
    if request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name == "payload_json":
                data = json.loads(await part.text())
            else:
                files.append((part.filename or "", bytes(await part.read())))
    elif request.can_read_body:
        data = await request.json()
    return Call(route, parts, data, files)


def as_json(status: int, data: Any, **headers: str) -> web.Response:
    # discord.py compares this header as a whole.
    return web.Response(
        status=status,
        body=json.dumps(data).encode(),
        headers={"Content-Type": "application/json", **headers},
    )


def failure(fault: DiscordFault) -> web.Response:
    if fault.body is not None:
        return web.Response(status=fault.status, body=fault.body)
    details: dict[str, Any] = {"message": fault.message, "code": fault.code}
    if fault.retry_after is None:
        return as_json(fault.status, details)
    details |= {"retry_after": fault.retry_after, "global": fault.scope == "global"}
    headers = {"Retry-After": str(int(fault.retry_after)), "Via": "1.1 google"}
    headers |= {"X-RateLimit-Scope": fault.scope}
    if fault.scope == "global":
        headers["X-RateLimit-Global"] = "true"
    return as_json(fault.status, details, **headers)


class ChannelLimits:
    """The documented limits of a channel, once they are set: so many messages and edits (`most`),
    or reactions put and taken away (`reacting`), within so many seconds; and what is left of them
    in the headers. `complaints` counts those beyond it."""

    def __init__(self) -> None:
        self.most: tuple[int, float] | None = None
        self.reacting: tuple[int, float] | None = None
        self.complaints = 0
        self._lately: dict[tuple[str, str], deque[float]] = {}

    def complaint(self, call: Call) -> web.Response | None:
        """The answer to one too many; None: it may be."""
        _, limit = self._limit(call)
        if limit is None:
            return None
        (count, period), lately = limit, self._of(call, limit)
        now = time.monotonic()
        if len(lately) < count:
            lately.append(now)
            return None
        self.complaints += 1
        wait = lately[0] + period - now
        return failure(DiscordFault(status=429, retry_after=wait, message="You are being limited."))

    def headers(self, call: Call) -> dict[str, str]:
        """What the answer to a call says."""
        name, limit = self._limit(call)
        if limit is None:
            return {}
        (count, period), lately = limit, self._of(call, limit)
        left = count - len(lately)
        reset = lately[0] + period - time.monotonic() if lately else period
        return {
            "X-RateLimit-Bucket": f"b{name}",
            "X-RateLimit-Limit": str(count),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset-After": f"{reset:.3f}",
        }

    def _limit(self, call: Call) -> tuple[str, tuple[int, float] | None]:
        if call.route in _WRITING:
            return "messages", self.most
        return "reactions", self.reacting if "/reactions/" in call.route else None

    def _of(self, call: Call, limit: tuple[int, float]) -> deque[float]:
        name, _ = self._limit(call)
        lately = self._lately.setdefault((name, call.parts["channel"]), deque())
        while lately and lately[0] <= time.monotonic() - limit[1]:
            lately.popleft()
        return lately
