"""The description of the HTTP API: whole, valid, and true of what is told over streams."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import aiohttp
import jsonschema_rs
import pytest
import schemathesis

from nanobot.plugins.common.http.access import Access
from nanobot.plugins.common.http.admission import Admission
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.http.application_factory import Served, routes_of
from nanobot.plugins.http.plugin_metrics import PluginMetrics
from nanobot.plugins.page.page_files import PageFiles
from nanobot.system import SystemClock
from tests.plugins.http_api.test_streams import reading
from tests.server.housing import Client, House


async def document(client: Client) -> dict[str, Any]:
    code, described = await client.get("/openapi.json")
    assert code == 200
    return dict(described)


def validator(described: dict[str, Any], schema: dict[str, Any]) -> jsonschema_rs.Validator:
    """Of a schema that is within the document."""
    return jsonschema_rs.Draft202012Validator({**described, **schema})


async def test_it_is_valid(served: House) -> None:
    described = await document(await served.stranger())
    schemathesis.openapi.from_dict(described).validate()
    assert described["openapi"].startswith("3.1.")
    named = [each["operationId"] for path in described["paths"].values() for each in path.values()]
    assert len(named) == len(set(named))
    for path, methods in described["paths"].items():
        for method, each in methods.items():
            assert each["summary"].endswith("."), (method, path)


async def test_every_route_is_in_it_and_nothing_else(served: House) -> None:
    parts = served.parts
    whole = Served(
        settings=WebSettings(),
        access=parts.plugged.offers.get(Access),
        clock=SystemClock(),
        deliveries={},
        ready=lambda: True,
        role="all",
        plugins=parts.plugged,
        metrics=PluginMetrics(parts.plugged),
    )
    admission = Admission(whole.settings, whole.access, whole.clock)
    page = {route.path for route in PageFiles().routes()}
    served_ones = {
        (r.method, r.path)
        for r in await routes_of(whole, admission)
        if r.path not in page and not r.path.startswith("/plugins/")
    }
    described = await document(await served.stranger())
    listed = {(m.upper(), path) for path, methods in described["paths"].items() for m in methods}
    assert served_ones == listed


async def test_answers_have_all_their_fields(served: House) -> None:
    """Those with a default too: the gateway leaves none out. What a client sends may lack them."""
    schemas = (await document(await served.stranger()))["components"]["schemas"]
    for name in ("JobView", "SettingView", "FileText", "TakenMessage", "Me"):
        assert set(schemas[name]["required"]) == set(schemas[name]["properties"]), name
    assert schemas["NewMessage"]["required"] == []
    assert "reasoning" not in schemas["ReplyEntry"]["required"]


async def test_fields_are_described_as_in_the_code(served: House) -> None:
    """Under the names that they have over HTTP, and with what a struct inherits."""
    schemas = (await document(await served.stranger()))["components"]["schemas"]
    told = {
        name: {field for field, rule in schema.get("properties", {}).items() if _told(rule)}
        for name, schema in schemas.items()
    }
    assert {"host", "approvers", "seen"} <= told["Approval"]
    assert told["Approval"] <= told["ApprovalView"]
    assert sum(map(len, told.values())) > 150


def _told(rule: Mapping[str, Any]) -> bool:
    return "description" in rule


async def test_what_an_entry_of_a_log_has_depends_on_its_kind(served: House) -> None:
    described = await document(await served.stranger())
    judge = validator(described, {"$ref": "#/components/schemas/EntryView"})
    entry = {"seq": 1, "run_id": "r", "at": 1.0}
    body = {"type": "cancel", "by": "local"}
    assert judge.is_valid({**entry, "kind": "cancel", "body": body})
    assert judge.is_valid({**entry, "kind": "cancel", "body": None})
    assert not judge.is_valid({**entry, "kind": "cancel", "body": {"type": "cancel"}})
    assert not judge.is_valid({**entry, "kind": "reply", "body": body})


async def test_a_compressed_body_is_refused_as_described(owner: Client) -> None:
    """By every route that takes a body, before it does anything."""
    paths = (await document(owner))["paths"]
    taking = [
        (method, path, each)
        for path, methods in paths.items()
        for method, each in methods.items()
        if "requestBody" in each
    ]
    assert len(taking) > 50
    headers = {**owner.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"}
    for method, path, each in taking:
        url = owner.url + re.sub(r"\{\w+\}", "x", path)
        async with owner.session.request(method, url, data=b"{}", headers=headers) as answer:
            assert str(answer.status) in each["responses"], (path, answer.status)
            assert answer.status in (400, 404, 415), path
            assert "415" in each["responses"], path


async def test_it_says_how_to_get_in(served: House) -> None:
    described = await document(await served.stranger())
    schemes = described["components"]["securitySchemes"]
    assert schemes["token"]["scheme"] == "bearer"
    browser = await served.browser()
    assert schemes["cookie"]["name"] in {each.key for each in browser.session.cookie_jar}
    assert schemes["csrf"]["name"] in browser.headers
    changes, reads = described["paths"]["/api/send"]["post"], described["paths"]["/api/me"]["get"]
    assert changes["security"] == [{"token": []}, {"cookie": [], "csrf": []}]
    assert reads["security"] == [{"token": []}, {"cookie": []}]
    assert described["paths"]["/healthz"]["get"]["security"] == []


@pytest.mark.parametrize("path", ["/api/sessions/{key}/events", "/api/events"])
async def test_what_streams_tell_is_as_described(owner: Client, path: str) -> None:
    described = await document(owner)
    answer = described["paths"][path]["get"]["responses"]["200"]
    event = answer["content"]["text/event-stream"]["schema"]
    data = event["properties"]["data"]["anyOf"][0]["contentSchema"]
    check = validator(described, data)
    kinds = set()
    async with reading(owner, path.format(key="web:desk")) as reader:
        item = await reader.item()
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        while item["type"] != "event" or item["event"]["kind"] != "end":
            check.validate(item)
            kinds.add(item["type"])
            item = await reader.item()
        check.validate(item)
    assert {"snapshot", "said", "event"} <= kinds


async def test_what_the_websocket_says_is_as_described(owner: Client) -> None:
    described = await document(owner)
    words = described["paths"]["/ws"]["get"]["x-websocket"]
    asks, answers = (validator(described, words[name]) for name in ("request", "answer"))
    items = validator(described, words["item"])
    requests: list[dict[str, Any]] = [
        {"op": "follow", "session": "web:desk", "key": "1"},
        {"op": "say", "session": "web:desk", "message": {"text": "hello"}, "key": "2"},
        {"op": "call", "name": "runs list", "key": "3"},
        {"op": "call", "name": "fly", "key": "4"},
        {"op": "leave", "session": "web:desk", "key": "5"},
    ]
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        keys = []
        for request in requests:
            asks.validate(request)
            await socket.send_json(request)
        while "5" not in keys:
            message = json.loads((await socket.receive(timeout=20)).data)
            if message["type"] in ("result", "error"):
                answers.validate(message)
                keys.append(message["key"])
            else:
                items.validate(message)
    assert keys == ["1", "2", "3", "4", "5"]
    assert not asks.is_valid({"op": "fly"})


async def test_whoever_asks_otherwise_is_told_how(owner: Client) -> None:
    for method, path, allowed in (
        ("POST", "/api/me", "GET"),
        ("GET", "/api/send", "POST"),
        ("DELETE", "/mcp", "POST"),
        ("GET", "/mcp", "POST"),
        ("PUT", "/v1/responses", "POST"),
    ):
        async with owner.session.request(
            method, owner.url + path, headers=owner.headers
        ) as response:
            assert response.status == 405, path
            assert allowed in response.headers["Allow"].split(","), path
            assert (await response.json())["error"]["code"] == "method_not_allowed"


async def test_an_error_below_v1_is_always_one_of_that_api(served: House) -> None:
    stranger, owner = await served.stranger(), await served.owner()
    described = await document(owner)
    check = validator(described, {"$ref": "#/components/schemas/OpenAIError"})
    for who, method, path, code in (
        (stranger, "GET", "/v1/models", 401),
        (owner, "GET", "/v1/files", 404),
        (owner, "GET", "/v1/responses", 405),
        (owner, "POST", "/v1/responses", 400),
    ):
        status, body = await who.ask(method, path)
        assert status == code
        check.validate(body)


async def test_the_page_of_it_is_served(served: House) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{served.url}/docs") as response:
        assert "docs.js" in await response.text()


async def test_a_query_that_names_something_twice_is_refused_on_every_path(served: House) -> None:
    """Of two values none is meant more than the other; all paths that need a token say so, and
    their descriptions do."""
    owner = await served.owner()
    described = await document(owner)
    for path, methods in described["paths"].items():
        if "get" not in methods or methods["get"].get("security") == []:
            continue
        asked = re.sub(r"{\w+}", "x", path)
        code, body = await owner.get(f"{asked}?limit=1&limit=2")
        assert (code, body["error"]["message"]) == (400, "`limit` is there twice"), path
        assert "400" in methods["get"]["responses"], path
