"""The HTTP API of the operations: one route each, generated from the list that all other interfaces
use.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from nanobot.errors import (
    NanobotError,
    NotAllowed,
)
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import converted
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.refusals import problem_of
from nanobot.plugins.common.http.requests import caller_of, sent
from nanobot.plugins.common.http.route import Handler, Route
from nanobot.plugins.common.http.wire import answer, wanted
from nanobot.plugins.common.translation.results import in_language

UNREADABLE = "Nanobot-Unreadable"
"""The number of rows that belong in a list but are unreadable; `quarantine list` names them."""


def path_of(operation: Operation) -> str:
    """Its path."""
    return f"/api/{operation.name.replace(' ', '/')}"


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
    values = dict(request.query)
    typed = converted(operation.parameters, values, strict=False)
    return {name: value for name, value in typed.items() if name in values}
