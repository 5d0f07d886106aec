"""What a platform sends to a channel over HTTP, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.ports.channel import Intake


class PlatformRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request below /channels/NAME. `path` is what follows the name, "" or with a / in front;
    `headers` have names in small letters; `body` holds the bytes as they came, for signatures."""

    method: str
    path: str = ""
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""


class PlatformReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one. From status 400 on it is a refusal, and `body` a sentence about it."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain"


@runtime_checkable
class Receiving(Protocol):
    """A channel whose platform sends requests to /channels/NAME/... of the gateway's HTTP server.

    Every process that serves HTTP takes them, whether `run` runs there or in another process or
    not at all: what `receive` needs to know comes with the request and the settings."""

    def reached_at(self, url: str) -> None:
        """The public address of /channels/NAME; "" if none is configured. Told before `run`."""
        ...

    async def receive(self, request: PlatformRequest, intake: Intake) -> PlatformReply:
        """Check the signature, commit what the request brings, and only then return the answer by
        which the platform knows that it arrived. Requests come one after another, in the order of
        their arrival. What `intake.admit` raises is let through: the platform is told to deliver
        again later, and a repeat is dropped by its dedupe_key."""
        ...
