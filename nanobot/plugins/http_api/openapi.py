"""The description of the HTTP API, OpenAPI 3.1, generated from the same list as its routes."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
from aiohttp import web

from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter
from nanobot.plugins.common.http.admission import CSRF
from nanobot.plugins.common.http.path_prefix import prefix_of
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.route_description import (
    ALWAYS,
    JSON,
    Described,
    Media,
    RouteDescription,
)
from nanobot.plugins.common.http.wire import QUIET
from nanobot.plugins.common.operation_schema import rule_of, schema_of
from nanobot.plugins.http_api.answer_schemas import BODIES, by_kind, with_all_fields
from nanobot.plugins.http_api.descriptions import DESCRIPTIONS
from nanobot.plugins.http_api.field_descriptions import add_descriptions
from nanobot.plugins.http_api.operation_routes import UNREADABLE, path_of

_REFERENCE = "#/components/schemas/{name}"
_OF_GUARDS = (400, 401, 403, 429, 503)
_OF_READING = (404, 409, 502)
_OF_CHANGING = (*_OF_READING, 408, 413, 415)
_Json: TypeAlias = dict[str, Any]

_REFUSALS = {
    400: ("BadRequest", "Something is missing, unknown or not as it must be."),
    401: ("Unauthorized", "Missing or invalid credentials."),
    403: ("Forbidden", "Not allowed for this role, or the Host or Origin is not accepted."),
    404: ("NotFound", "Not found."),
    406: ("NotAcceptable", "The client does not accept any available media type."),
    408: ("TooSlow", "The body did not arrive in time."),
    409: ("Conflict", "Not possible in the current state."),
    413: ("TooLarge", "The body is too large."),
    415: ("UnsupportedType", "The body has an unsupported type, or is compressed."),
    426: ("UpgradeRequired", "This route needs a WebSocket."),
    429: ("TooManyRequests", "Too many requests, or a spending limit is reached."),
    501: ("NotInstalled", "A required package is not installed."),
    502: ("BadGateway", "A model cannot be used."),
    503: ("Unavailable", "The store does not work, or nanobot is starting or stopping."),
}
_HEADERS = {
    401: ("WWW-Authenticate", False, "How to say who asks."),
    426: ("Upgrade", True, "What to ask for."),
    429: ("Retry-After", False, "Seconds until it may be asked again."),
    503: ("Retry-After", False, "Seconds until it may be asked again."),
}


_UNREADABLE = {
    UNREADABLE: {
        "description": "How many rows belong into the list and cannot be read; "
        "`GET /api/quarantine/list` names them. Missing if all can be read.",
        "schema": {"type": "string"},
    }
}


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong: `code` for programs, `message` for people."""

    code: str
    message: str


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was refused."""

    error: ErrorDetail


def openapi_route(
    operations: Sequence[Operation],
    version: str,
    *,
    cookie: str,
    others: Described,
) -> Route:
    """GET /openapi.json: generated at the first request, with the `others` that are served. Its
    paths are below the prefix under which the client requested it.
    """
    made: list[_Json] = []
    making = asyncio.Lock()

    async def describe(request: web.Request) -> web.StreamResponse:
        async with making:
            if not made:  # on a thread: it takes a tenth of a second
                make = partial(description, operations, version, cookie=cookie, also=others.routes)
                made.append(await asyncio.to_thread(make))
        servers = [{"url": prefix_of(request) or "/"}]
        body = msgspec.json.encode(made[0] | {"servers": servers})
        return web.Response(body=body, content_type=JSON, headers=QUIET)

    return Route(method="GET", path="/openapi.json", handler=describe, open=True)


def description(
    operations: Sequence[Operation],
    version: str,
    *,
    cookie: str,
    also: Sequence[RouteDescription] = (),
) -> _Json:
    """The whole document, for a gateway with that cookie; `also` describes further routes."""
    listed = [operation for operation in operations if operation.listed]
    routes = [*DESCRIPTIONS, *also]
    errors: dict[Any, str] = {Error: ""}
    errors |= {each.errors: each.errors_prefix for each in routes if each.errors is not None}
    answers = [*(each.returns for each in listed), *_answers(routes), *errors, *BODIES]
    schemas = _Schemas(answers, list(_taken(routes)))
    paths: _Json = {}
    for operation in listed:
        method = "get" if operation.reads else "post"
        paths.setdefault(path_of(operation), {})[method] = _of_operation(operation, schemas)
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = _of_route(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nanobot",
            "version": version,
            "description": "Everything that the gateway serves. docs/web.md says who may ask.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {
                **{
                    name: refusal
                    for error, prefix in errors.items()
                    for name, refusal in _refusals(error.__name__, prefix).items()
                },
                **{
                    name: refusal
                    for route in routes
                    if route.refusal is not None
                    for name, refusal in _refusals(route.refusal.__name__, route.form).items()
                },
            },
            "securitySchemes": _schemes(cookie),
        },
        "security": _security("post"),
    }


class _Schemas:
    """The JSON Schemas of types."""

    def __init__(self, answers: Sequence[Any], taken: Sequence[Any]) -> None:
        types = [*answers, *taken]
        schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
        self._schemas = {id(each): schema for each, schema in zip(types, schemas, strict=True)}
        self._types = types  # whose ids these are
        add_descriptions(components, types)
        exact = with_all_fields(components, answers, taken)
        exact |= {"EntryView": by_kind(exact["EntryView"], _REFERENCE)}
        self.components = {name: _tidy(schema) for name, schema in exact.items()}

    def of(self, kind: Any) -> _Json:
        """The schema of one of the types."""
        return self._schemas[id(kind)]

    def fields(self, struct: type[msgspec.Struct]) -> Iterator[tuple[str, _Json]]:
        """The names and schemas of the fields of one of them."""
        yield from self.components[struct.__name__]["properties"].items()


def _answers(routes: Sequence[RouteDescription]) -> Iterator[Any]:
    for route in routes:
        for media in route.answers.values():
            yield from filter(None, (media.of, media.events))
        yield from (kind for name, kind in route.websocket.items() if name != "request")


def _taken(routes: Sequence[RouteDescription]) -> Iterator[Any]:
    for route in routes:
        for media in route.takes.values():
            yield from filter(None, (media.of, media.events))
        yield from filter(None, (route.query, route.headers))
        yield from (kind for name, kind in route.websocket.items() if name == "request")


def _tidy(schema: _Json) -> _Json:
    """With the docstring of its type as the description."""
    about = schema.get("description")
    return schema | {"description": inspect.cleandoc(about)} if about else schema


def _of_operation(operation: Operation, schemas: _Schemas) -> _Json:
    refusals = _OF_READING if operation.reads else _OF_CHANGING
    described: _Json = {
        "operationId": re.sub(r"[ -]", "_", operation.name),
        "summary": operation.sentence,
        **({"description": operation.details} if operation.details else {}),
        "tags": [operation.name.split()[0]],
        "security": _security("get" if operation.reads else "post"),
        "responses": {
            "200": _answer({JSON: {"schema": schemas.of(operation.returns)}})
            | ({"headers": _UNREADABLE} if operation.shows else {}),
            **_refused((*refusals, *_OF_GUARDS)),
        },
        "x-least-role": str(operation.role),
    }
    if operation.reads:
        described["parameters"] = [_parameter(each) for each in operation.parameters]
    else:
        schema = schema_of(operation)
        required, body = bool(schema["required"]), {JSON: {"schema": schema}}
        described["requestBody"] = {"required": required, "content": body}
    return described


def _parameter(parameter: Parameter) -> _Json:
    rule = rule_of(parameter)
    if not parameter.required and parameter.default is not None:
        rule = rule | {"default": parameter.default}
    return _argument(parameter.name, "query", rule, required=parameter.required)


def _of_route(route: RouteDescription, schemas: _Schemas) -> _Json:
    guards = ALWAYS if route.open else _OF_GUARDS
    prefix = route.errors_prefix
    own = _refused(route.own_refusals, route.form)
    content = {
        kind: _media(media, schemas, f"{prefix}Error") for kind, media in route.answers.items()
    }
    described: _Json = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "security": [] if route.open else _security(route.method),
        "parameters": list(_arguments(route, schemas)),
        "responses": {
            str(route.status): _answer(content),
            **{str(status): {"description": text} for status, text in route.also.items()},
            **_refused((*route.refusals, *guards), prefix),
            **own,
        },
    }
    if route.takes:
        body = {kind: _media(media, schemas, "") for kind, media in route.takes.items()}
        described["requestBody"] = {"required": True, "content": body}
    if route.websocket:
        described["x-websocket"] = {
            name: schemas.of(kind) for name, kind in route.websocket.items()
        }
    return described


def _arguments(route: RouteDescription, schemas: _Schemas) -> Iterator[_Json]:
    for name in re.findall(r"\{(\w+)\}", route.path):
        yield _argument(name, "path", {"type": "string", "minLength": 1}, required=True)
    for place, struct in (("query", route.query), ("header", route.headers)):
        if struct is not None:
            for name, rule in schemas.fields(struct):
                yield _argument(name, place, rule, required=False)


def _argument(name: str, place: str, rule: _Json, *, required: bool) -> _Json:
    about = {"description": rule["description"]} if "description" in rule else {}
    return {"name": name, "in": place, "required": required, "schema": rule, **about}


def _media(media: Media, schemas: _Schemas, error: str) -> _Json:
    if media.events is not None:
        return {"schema": _event(schemas.of(media.events), error)}
    if media.schema is not None:
        return {"schema": dict(media.schema)}
    return {"schema": schemas.of(media.of)}


def _event(schema: _Json, error: str) -> _Json:
    """Each event of a stream, as OpenAPI 3.2 describes them and 3.1 tools read them."""
    content = {"anyOf": [schema, {"$ref": _REFERENCE.format(name=error)}]}
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": content}
    return {
        "type": "object",
        "description": "Each event of the stream.",
        "properties": {
            "data": {"anyOf": [data, {"const": "[DONE]"}]},
            "event": {"type": "string"},
            "id": {"type": "string"},
            "retry": {"type": "integer"},
        },
    }


def _answer(content: Mapping[str, Any]) -> _Json:
    if not content:
        return {"description": "The connection becomes a WebSocket."}
    return {"description": "Success.", "content": content}


def _refused(statuses: Sequence[int], prefix: str = "") -> _Json:
    return {
        str(status): {"$ref": f"#/components/responses/{prefix}{_REFUSALS[status][0]}"}
        for status in sorted(set(statuses))
    }


def _refusals(schema: str, prefix: str) -> _Json:
    """All errors, in one of their two forms."""
    content = {JSON: {"schema": {"$ref": _REFERENCE.format(name=schema)}}}
    return {
        f"{prefix}{name}": {"description": about, "content": content, **_headers(status)}
        for status, (name, about) in _REFUSALS.items()
    }


def _headers(status: int) -> _Json:
    if status not in _HEADERS:
        return {}
    name, required, about = _HEADERS[status]
    header = {"description": about, "required": required, "schema": {"type": "string"}}
    return {"headers": {name: header}}


def _schemes(cookie: str) -> _Json:
    return {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "The gateway's own token, or one that `nanobot web tokens add` made.",
        },
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie,
            "description": "What POST /api/login gives a browser.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": CSRF,
            "description": "The value of csrf in GET /api/me; required with the cookie for every "
            "change.",
        },
    }


def _security(method: str) -> list[_Json]:
    cookie: _Json = {"cookie": []} if method == "get" else {"cookie": [], "csrf": []}
    return [{"token": []}, cookie]
