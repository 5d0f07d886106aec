"""The description of the HTTP API, OpenAPI 3.1, made from the same list as its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from aiohttp import web

from nanobot.operations.notices import NoticeView
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter
from nanobot.server.application import Route
from nanobot.server.login import Me
from nanobot.server.operation_routes import path_of
from nanobot.server.session_routes import NewMessage, Span, TakenMessage, Window
from nanobot.server.wire import QUIET
from nanobot.session.views import SessionPage

_REFERENCE = "#/components/schemas/{name}"
_Json: TypeAlias = dict[str, Any]


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong: `code` for programs, `message` for people."""

    code: str
    message: str


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was refused."""

    error: ErrorDetail


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a link, or a token."""

    secret: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """It was done."""

    ok: bool


class _Extra(msgspec.Struct, frozen=True, kw_only=True):
    """A route that is no operation. `query` and `body` are structs of what it takes."""

    method: str
    path: str
    summary: str
    returns: Any
    query: Any = None
    body: Any = None
    open: bool = False


_EXTRAS = (
    _Extra(
        method="post",
        path="/api/login",
        summary="Logs a browser in: sets its cookie.",
        body=Login,
        returns=Done,
        open=True,
    ),
    _Extra(method="get", path="/api/me", summary="Says who asks.", returns=Me),
    _Extra(method="post", path="/api/logout", summary="Logs the browser out.", returns=Done),
    _Extra(
        method="get",
        path="/api/sessions/{key}/entries",
        summary="Shows entries of a conversation by range.",
        query=Window,
        returns=SessionPage,
    ),
    _Extra(
        method="get",
        path="/api/sessions/{key}/notices",
        summary="Shows what was answered beside the log of a conversation: commands, refusals.",
        query=Span,
        returns=list[NoticeView],
    ),
    _Extra(
        method="post",
        path="/api/sessions/{key}/messages",
        summary="Says something in a conversation, once for each client_request_id.",
        body=NewMessage,
        returns=TakenMessage,
    ),
)


def openapi_route(operations: Sequence[Operation], version: str) -> Route:
    """GET /openapi.json: made at the first request."""
    made: list[bytes] = []

    async def describe(_: web.Request) -> web.StreamResponse:
        if not made:
            made.append(msgspec.json.encode(description(operations, version)))
        return web.Response(body=made[0], content_type="application/json", headers=QUIET)

    return Route(method="GET", path="/openapi.json", handler=describe, open=True)


def description(operations: Sequence[Operation], version: str) -> _Json:
    """The whole document."""
    listed = [operation for operation in operations if operation.listed]
    kinds = [operation.returns for operation in listed]
    extra = [kind for each in _EXTRAS for kind in (each.returns, each.query, each.body) if kind]
    schemas, components = msgspec.json.schema_components(
        [*kinds, *extra, Error], ref_template=_REFERENCE
    )
    by_kind = dict(zip(map(id, [*kinds, *extra]), schemas, strict=False))
    paths: _Json = {}
    for operation, schema in zip(listed, schemas, strict=False):
        method = "get" if operation.reads else "post"
        paths.setdefault(path_of(operation), {})[method] = _of_operation(operation, schema)
    for each in _EXTRAS:
        paths.setdefault(each.path, {})[each.method] = _of_extra(each, by_kind, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nanobot",
            "version": version,
            "description": "Every operation of the gateway. docs/web.md says who may ask.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _of_operation(operation: Operation, schema: _Json) -> _Json:
    described: _Json = {
        "operationId": operation.name.replace(" ", "_").replace("-", "_"),
        "summary": f"{operation.help[:1].upper()}{operation.help[1:]}.",
        "tags": [operation.name.split()[0]],
        "responses": _responses(schema),
        "x-least-role": str(operation.role),
    }
    if operation.reads:
        described["parameters"] = [_parameter(each) for each in operation.parameters]
    else:
        described["requestBody"] = _body(operation.schema)
    return described


def _parameter(parameter: Parameter) -> _Json:
    rule = msgspec.json.schema(parameter.hint)
    if not parameter.required and parameter.default is not None:
        rule = rule | {"default": parameter.default}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.description,
        "schema": rule,
    }


def _of_extra(extra: _Extra, by_kind: dict[int, _Json], components: _Json) -> _Json:
    described: _Json = {
        "operationId": f"{extra.method}{extra.path}".replace("/", "_").replace("{key}", "key"),
        "summary": extra.summary,
        "tags": [extra.path.split("/")[2]],
        "responses": _responses(by_kind[id(extra.returns)]),
        "parameters": [],
    }
    if "{key}" in extra.path:
        described["parameters"].append(
            {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    if extra.query is not None:
        fields = components[extra.query.__name__]["properties"]
        described["parameters"] += [
            {"name": name, "in": "query", "required": False, "schema": rule}
            for name, rule in fields.items()
        ]
    if extra.body is not None:
        described["requestBody"] = _body(by_kind[id(extra.body)])
    if extra.open:
        described["security"] = []
    return described


def _body(schema: _Json) -> _Json:
    return {
        "required": bool(schema.get("required", True)),
        "content": {"application/json": {"schema": schema}},
    }


def _responses(schema: _Json) -> _Json:
    error = {"$ref": _REFERENCE.format(name="Error")}
    return {
        "200": {
            "description": "It was done.",
            "content": {"application/json": {"schema": schema}},
        },
        "default": {
            "description": "It was refused.",
            "content": {"application/json": {"schema": error}},
        },
    }
