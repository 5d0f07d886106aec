"""What a request says, for routes: its caller, its query, and the JSON of its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from nanobot.addresses import MEMBERS_CHAT
from nanobot.errors import NotAllowed, UnknownId, UsageError
from nanobot.messages import TERMINAL_SESSION, WEB, Address, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.common.http.access import Principal
from nanobot.plugins.common.http.admission import principal_of
from nanobot.plugins.common.http.wire import Problem, body_of

BODY_LIMIT = 4 * 1024 * 1024
BODY_SECONDS = 30.0
_LONGEST_KEY = 300


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


def owners_only(request: web.Request) -> None:
    """Raises NotAllowed unless the caller is an owner."""
    if principal_of(request).role is not Role.OWNER:
        raise NotAllowed("This is for owners only.")


def allowed(key: str, caller: Caller) -> str:
    """The session's key, if it is valid and the caller may see that session. Raises
    NanobotError.
    """
    if len(key) > _LONGEST_KEY or not key.isprintable():
        raise UnknownId("there is no session of such a name")
    if not caller.sees(key):
        raise NotAllowed("Only owners can see other conversations.")
    return key


def query_of(request: web.Request, kind: type[Any]) -> Any:
    """The query as a struct of that kind. Raises UsageError."""
    try:
        return msgspec.convert(dict(request.query), kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None


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
