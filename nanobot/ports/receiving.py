"""HTTP requests of a platform to a channel, and the replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.ports.channel import Intake


class PlatformRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request below /channels/NAME. `path`: the rest after the name, "" or beginning with /;
    `headers` have lowercase names; `body`: the unchanged bytes, for signatures."""

    method: str
    path: str = ""
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""


class PlatformReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply. A status from 400 on is a refusal, and `body` explains it in a sentence."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain"


@runtime_checkable
class Receiving(Protocol):
    """A channel whose platform sends requests to /channels/NAME/... of the gateway's HTTP server.

    Every process that serves HTTP takes them, whether `run` is active there, in another process or
    not at all. So `receive` may use only the request and the settings.
    """

    def reached_at(self, url: str) -> None:
        """The public URL of /channels/NAME; "" if none is configured. Called before `run`, unless
        this gateway takes no requests: nothing can be pressed then, so choices are words."""

    async def receive(self, request: PlatformRequest, intake: Intake) -> PlatformReply:
        """Check the signature, commit the request's messages, and only then return the reply that
        acknowledges them. Requests are handled one after another, in the order of arrival. Let
        errors of `intake.admit` pass: the platform is told to deliver again later, and a repeat is
        dropped by its dedupe_key."""
