"""The HTTP API of the operations: one route each, generated from the list that all other interfaces
use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from nanobot.addresses import MEMBERS_CHAT
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
from nanobot.messages import TERMINAL_SESSION, WEB, Address, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Caller, Operation
from nanobot.operations.parameters import converted
from nanobot.server.access import Principal
from nanobot.server.admission import principal_of
from nanobot.server.application import Handler, Route
from nanobot.server.wire import Problem, answer, body_of, wanted
from nanobot.texts import in_language

BODY_LIMIT = 4 * 1024 * 1024
BODY_SECONDS = 30.0
UNREADABLE = "Nanobot-Unreadable"
"""The number of rows that belong in a list but are unreadable; `quarantine list` names them."""

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


def path_of(operation: Operation) -> str:
    """Its path."""
    return f"/api/{operation.name.replace(' ', '/')}"


def problem_of(error: NanobotError) -> Problem:
    """The description of a refusal for a client."""
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    raise AssertionError("every refusal is a NanobotError")


def caller_of(principal: Principal) -> Caller:
    """The caller for operations: owners as at this machine, others in a private chat, which cannot
    be a conversation that an owner named. Members may start more of them.
    """
    if principal.role is Role.OWNER:
        return Caller(
            role=Role.OWNER, session_key=TERMINAL_SESSION, by=principal.by, name=principal.person
        )
    address = Address(WEB, f"{MEMBERS_CHAT}{principal.by}")
    return Caller(
        role=principal.role,
        session_key=str(address),
        by=principal.by,
        name=principal.person,
        address=address,
        own=f"{address}:" if principal.role is Role.MEMBER else "",
    )


def operation_routes(operations: Dispatcher) -> list[Route]:
    """Operations that only read use GET and a query, the others POST and a JSON object."""
    return [
        Route(
            method="GET" if operation.reads else "POST",
            path=path_of(operation),
            handler=_performing(operations, operation),
        )
        for operation in operations.listed
        if operation.listed
    ]


def _performing(operations: Dispatcher, operation: Operation) -> Handler:
    async def perform(request: web.Request) -> web.StreamResponse:
        caller = caller_of(principal_of(request))
        try:
            if not operation.may(caller.role):
                raise NotAllowed(f"{operation.name} is not for {caller.role}s.")
            arguments = _queried(operation, request) if operation.reads else await sent(request)
            given = await operations.listing(operation.name, arguments, caller)
        except NanobotError as error:
            raise problem_of(error) from None
        unreadable = {UNREADABLE: str(len(given.unreadable))} if given.unreadable else {}
        said = in_language(given.result, operation.translated_as, wanted(request))
        return answer(200, said, unreadable)

    return perform


def _queried(operation: Operation, request: web.Request) -> dict[str, Any]:
    """The typed arguments in a query. Raises UsageError."""
    values: dict[str, str] = {}
    for name, value in request.query.items():
        if name in values:
            raise UsageError(f"`{name[:80]}` is there twice")
        values[name] = value
    typed = converted(operation.parameters, values, strict=False)
    return {name: value for name, value in typed.items() if name in values}


async def sent(request: web.Request, limit: int = BODY_LIMIT) -> Mapping[str, Any]:
    """The JSON object in the body; an empty body is an empty object. Raises UsageError or
    Problem.
    """
    raw = await body_of(request, limit, BODY_SECONDS)
    if not raw:
        return {}
    # A form on another site can send a request without a preflight, but never as JSON.
    if request.content_type != "application/json":
        raise Problem(415, "unsupported_type", "Send a JSON object as application/json.")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError("the body is not a JSON object")
    return value
