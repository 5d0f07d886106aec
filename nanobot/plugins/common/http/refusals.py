"""Refusals of operations as responses."""

from __future__ import annotations

from aiohttp import web

from nanobot.errors import (
    ConfigError,
    ModelError,
    ModelRateLimited,
    NanobotError,
    NotAllowed,
    OverBudget,
    RunConflict,
    StoreCorrupt,
    StoreError,
    UnknownId,
    UsageError,
)
from nanobot.plugins.common.http.route import Handler
from nanobot.plugins.common.http.wire import Problem

# The first match counts. Any other refusal of an operation is a conflict with the current state.
_STATUSES: tuple[tuple[type[NanobotError], int, str], ...] = (
    (NotAllowed, 403, "not_allowed"),
    (UnknownId, 404, "unknown"),
    (RunConflict, 409, "conflict"),
    (UsageError, 400, "bad_request"),
    (ConfigError, 400, "configuration"),
    (ModelRateLimited, 429, "model_busy"),
    (OverBudget, 429, "over_budget"),
    (ModelError, 502, "model"),
    (StoreCorrupt, 409, "corrupt"),
    (StoreError, 503, "store"),
    (NanobotError, 409, "conflict"),
)


def problem_of(error: NanobotError) -> Problem:
    """The description of a refusal for a client."""
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    raise AssertionError("every refusal is a NanobotError")


def refusing(handler: Handler) -> Handler:
    """The handler, with its refusals turned into problems."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except NanobotError as error:
            raise problem_of(error) from None

    return handle
