"""The routes that every gateway serves, described for people and programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from nanobot.plugins.common.http.route_description import (
    BINARY,
    BYTES,
    JSON,
    TYPED,
    Media,
    RouteDescription,
    json_of,
)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """Success."""

    ok: bool


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That it lives or can be used, and what the process does of all that a gateway does."""

    status: Literal["ok", "ready"]
    role: str


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a delivery."""

    status: Literal["accepted", "known", "ignored", "pong"]


METRICS = RouteDescription(
    method="get",
    path="/metrics",
    name="metrics",
    summary="Tells what Prometheus collects, in its text format.",
    answers={"text/plain": Media(schema={"type": "string"})},
)

HEALTH = (
    RouteDescription(
        method="get",
        path="/healthz",
        name="healthz",
        summary="Says that the process lives.",
        answers=json_of(Health),
        open=True,
    ),
    RouteDescription(
        method="get",
        path="/readyz",
        name="readyz",
        summary="Says whether everything is up.",
        answers=json_of(Health),
        refusals=(503,),
        open=True,
    ),
)


def delivering(path: str, about: str) -> RouteDescription:
    """Where a plugin takes deliveries; `path` is how their paths begin."""
    return RouteDescription(
        method="post",
        path=f"{path}/{{name}}",
        name=path.strip("/").replace("/", "_"),
        summary=about,
        takes={JSON: Media(schema={})},
        answers=json_of(Delivered),
        also={202: "It is kept, and survives any crash."},
        refusals=(*TYPED, 401, 429, 503),
        open=True,
    )


DOORS = tuple(
    RouteDescription(
        method=method,
        path=path,
        name=f"channels_{number}_{method}",
        summary=summary,
        takes={} if method == "get" else {BYTES: Media(schema=BINARY)},
        answers={"text/plain": Media(of=str)},
        refusals=(404, 429, 503) if method == "get" else (*TYPED, 401, 404, 429, 503),
        open=True,
    )
    for number, path in enumerate(("/channels/{name}", "/channels/{name}/{rest}"))
    for method, summary in (
        ("get", "Answers the platform of a channel that asks whether this is its address."),
        ("post", "Takes a request that the platform of a channel signed."),
    )
)
