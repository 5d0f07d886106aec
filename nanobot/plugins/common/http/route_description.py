"""How a route that is not an operation is described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

JSON = "application/json"
EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
ALWAYS = (403,)
"""What every route may answer: a request by a foreign name, or of a foreign page."""
TYPED = (400, 408, 413, 415)
"""What every route with a body may answer: it may also be compressed."""


_Json: TypeAlias = Mapping[str, Any]
BINARY: _Json = {"type": "string", "contentMediaType": BYTES}


class Media(msgspec.Struct, frozen=True, kw_only=True):
    """One form of a body: `of` a type that JSON has, or `schema`. `events`: the type of each event
    of a stream, for which OpenAPI 3.1 has no keyword.
    """

    of: Any = None
    schema: _Json | None = None
    events: Any = None


class ByOtherRules(msgspec.Struct, frozen=True, kw_only=True):
    """A type that only describes what is written by the rules of another protocol, which leave out
    fields that are empty."""


class RouteDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A route that is not an operation."""

    method: str
    path: str
    name: str
    summary: str
    answers: Mapping[str, Media] = {}
    """The forms of its response, by media type."""
    status: int = 200
    also: Mapping[int, str] = {}
    takes: Mapping[str, Media] = {}
    query: Any = None
    headers: Any = None
    refusals: tuple[int, ...] = ()
    """The statuses of errors, in addition to those of every route."""
    own_refusals: tuple[int, ...] = ()
    """Those of them that have the form `refusal`."""
    refusal: Any = None
    errors: Any = None
    """The form of all others, if it is not the usual one; its name ends with Error."""
    open: bool = False
    websocket: Mapping[str, Any] = {}
    """The messages in each direction."""

    @property
    def form(self) -> str:
        """What its own refusals are called by."""
        return "" if self.refusal is None else self.refusal.__name__.removesuffix("Answer")

    @property
    def errors_prefix(self) -> str:
        """Before the names of its errors in the document."""
        return "" if self.errors is None else self.errors.__name__.removesuffix("Error")

    @property
    def tag(self) -> str:
        first, *rest = self.path.strip("/").split("/")
        return rest[0] if first == "api" else first


class Described:
    """The descriptions of the routes that deliveries, channels and plugins have here; complete once
    all routes are made."""

    routes: Sequence[RouteDescription] = ()


def json_of(of: Any) -> Mapping[str, Media]:
    """A body of one type."""
    return {JSON: Media(of=of)}
