"""The gateway answers over HTTP in the language that the client asks for."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from nanobot.testing.machine import PATIENCE
from tests.server.housing import Client, House

CHINESE = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}


async def test_errors_are_in_the_language_that_is_asked_for(owner: Client) -> None:
    code, told = await owner.ask("GET", "/api/runs/show?id=none", headers=CHINESE)
    assert (code, told["error"]["code"]) == (404, "unknown")
    assert told["error"]["message"] == "没有运行 none；可用 `runs list` 列出。"
    code, told = await owner.ask("GET", "/api/runs/show?id=none")
    assert told["error"]["message"] == "There is no run none; `runs list` lists them."


async def test_refusals_before_any_operation_are_too(served: House) -> None:
    stranger = await served.stranger()
    code, told = await stranger.ask("GET", "/api/runs/list", headers=CHINESE)
    assert code == 401
    assert told["error"]["message"].startswith("请出示令牌")
    owner = await served.owner()
    code, told = await owner.ask("GET", "/nothing", headers=CHINESE)
    assert (code, told["error"]["message"]) == (404, "这里什么都没有。")
    code, told = await owner.ask("POST", "/v1/chat/completions", json=[], headers=CHINESE)
    assert (code, told["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.process
async def test_findings_of_doctor_and_steps_of_set_up_are_too(owner: Client) -> None:
    code, findings = await owner.ask("POST", "/api/doctor", json={}, headers=CHINESE)
    assert code == 200
    texts = {finding["about"]: finding["text"] for finding in findings}
    assert "时区" in texts["clock"]
    gateway = [finding["text"] for finding in findings if finding["about"] == "gateway"]
    assert any(text.startswith(("未运行", "正在运行")) for text in gateway)
    code, kinds = await owner.ask("GET", "/api/channels/types", headers=CHINESE)
    telegram = next(kind for kind in kinds if kind["name"] == "telegram")
    assert telegram["steps"] == "在 Telegram 上向 @BotFather 发送 /newbot，它会给你一个令牌。"
    assert telegram["person"] == "你的数字 ID"
    assert telegram["knock"] == "在 Telegram 上给 {bot} 发一条消息"


async def test_what_people_write_is_never_translated(owner: Client) -> None:
    text = "every 2 hours not running"
    code, job = await owner.ask(
        "POST", "/api/cron/add", json={"text": text, "name": "not root"}, headers=CHINESE
    )
    assert (code, job["name"], job["text"]) == (200, "not root", "not running")
    code, rows = await owner.ask("GET", "/api/cron/list", headers=CHINESE)
    assert [(row["name"], row["text"]) for row in rows] == [("not root", "not running")]
    code, told = await owner.ask(
        "POST", "/api/cron/add", json={"text": text, "name": "not root"}, headers=CHINESE
    )
    assert code in (400, 409)
    assert told["error"]["message"].endswith("已有名为 'not root' 的任务：请换一个名称。")


async def test_a_websocket_refuses_in_the_language_of_its_request(owner: Client) -> None:
    headers = {**owner.headers, **CHINESE}
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=headers) as socket:
        await socket.send_json({"op": "call", "name": "runs show", "arguments": {"id": "none"}})
        told = await socket.receive_json()
    assert told["error"] == {
        "code": "unknown",
        "message": "没有运行 none；可用 `runs list` 列出。",
    }


FAILED = RuntimeError("boom")
"""What a broken model raises; the person is told of it in a sentence of nanobot's."""


async def heard(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """The next item of that kind."""
    async with asyncio.timeout(PATIENCE):
        while True:
            item: dict[str, Any] = await socket.receive_json()
            if item["type"] == kind:
                return item


async def read_entries(client: Client, **headers: str) -> list[dict[str, Any]]:
    """The log of the conversation, once its run has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            code, page = await client.ask("GET", "/api/sessions/web:desk/entries", headers=headers)
            if code == 200 and any(entry["kind"] == "failed" for entry in page["entries"]):
                return list(page["entries"])
            await asyncio.sleep(0.01)


async def test_a_log_is_read_in_the_language_that_is_asked_for_and_kept_in_english(
    served: House, owner: Client
) -> None:
    served.provider.script.append(FAILED)
    await owner.post("/api/sessions/web:desk/messages", text="Stopped.")
    chinese = await read_entries(owner, **CHINESE)
    english = await read_entries(owner)
    (failed,) = [entry["body"]["text"] for entry in chinese if entry["kind"] == "failed"]
    assert failed.startswith("我内部出了问题（RuntimeError）。")
    (failed,) = [entry["body"]["text"] for entry in english if entry["kind"] == "failed"]
    assert failed.startswith("Something went wrong inside me (RuntimeError).")
    assert [entry["body"]["text"] for entry in chinese if entry["kind"] == "user"] == ["Stopped."]


async def test_an_exported_log_is_as_it_is_stored_in_every_language(
    served: House, owner: Client
) -> None:
    served.provider.script.append(FAILED)
    await owner.post("/api/sessions/web:desk/messages", text="hello")
    await read_entries(owner)
    path = "/api/sessions/export?session=web:desk"
    _, chinese = await owner.ask("GET", path, headers=CHINESE)
    _, english = await owner.ask("GET", path)
    assert chinese["entries"] == english["entries"]
    (failed,) = [entry for entry in chinese["entries"] if entry["kind"] == "failed"]
    assert failed["body"]["text"].startswith("Something went wrong inside me")


async def test_answers_to_commands_are_read_in_the_language_that_is_asked_for(
    owner: Client,
) -> None:
    await owner.post("/api/cron/add", text="every 2 hours Stopped.", name="Nothing found")
    await owner.post("/api/sessions/web:desk/messages", text="/cron")

    async def notices(**headers: str) -> list[dict[str, Any]]:
        async with asyncio.timeout(PATIENCE):
            while True:
                path = "/api/sessions/web:desk/notices"
                _, rows = await owner.ask("GET", path, headers=headers)
                if rows:
                    return list(rows)
                await asyncio.sleep(0.01)

    (chinese,), (english,) = await notices(**CHINESE), await notices()
    assert (chinese["said"], english["said"]) == ("/cron", "/cron")
    assert "active" in english["text"]
    assert "启用" in chinese["text"]
    assert "active" not in chinese["text"]
    for text in (chinese["text"], english["text"]):
        assert "Stopped." in text
        assert "Nothing found" in text
    assert english["own"]


async def test_a_websocket_answers_and_tells_in_the_language_of_each_request(
    served: House, owner: Client
) -> None:
    served.provider.script.append(FAILED)
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        call = {"op": "call", "name": "runs show", "arguments": {"id": "none"}}
        await socket.send_json({**call, "language": "zh-CN"})
        assert (await heard(socket, "error"))["error"]["message"].startswith("没有运行 none")
        await socket.send_json(call)
        assert (await heard(socket, "error"))["error"]["message"].startswith("There is no run")
        await socket.send_json({"op": "call", "name": "channels types", "language": "zh"})
        kinds = (await heard(socket, "result"))["result"]
        steps = next(kind["steps"] for kind in kinds if kind["name"] == "telegram")
        assert steps.startswith("在 Telegram 上")
        await socket.send_json({"op": "follow", "session": "web:desk", "language": "zh"})
        assert (await heard(socket, "snapshot"))["snapshot"]["entries"] == []
        message = {"text": "hello"}
        await socket.send_json({"op": "say", "session": "web:desk", "message": message})
        async with asyncio.timeout(PATIENCE):
            while (item := await heard(socket, "event"))["event"]["kind"] != "error":
                pass
        assert item["event"]["payload"]["text"].startswith("我内部出了问题")
        await socket.send_json({"op": "leave", "session": "web:desk"})
        await heard(socket, "result")
        await read_entries(owner)
        await socket.send_json({"op": "follow", "session": "web:desk", "language": "zh"})
        snapshot = (await heard(socket, "snapshot"))["snapshot"]
        (failed,) = [entry for entry in snapshot["entries"] if entry["kind"] == "failed"]
        assert failed["body"]["text"].startswith("我内部出了问题")


async def test_a_stream_of_events_tells_in_the_language_of_its_address(
    served: House, owner: Client
) -> None:
    served.provider.script.append(FAILED)
    await owner.post("/api/sessions/web:desk/messages", text="hello")
    await read_entries(owner)
    for language, begins in (("zh", "我内部出了问题"), ("en", "Something went wrong")):
        address = f"{owner.url}/api/sessions/web:desk/events?language={language}"
        async with (
            asyncio.timeout(PATIENCE),
            owner.session.get(address, headers={**owner.headers, **CHINESE}) as response,
        ):
            line = b""
            while b'"snapshot"' not in line:
                line = await response.content.readline()
        assert begins.encode() in line


async def test_a_chat_of_the_page_has_the_language_of_its_page(owner: Client) -> None:
    path = "/api/sessions/web:desk/messages"
    await owner.ask("POST", path, json={"text": "/language"}, headers=CHINESE)
    async with asyncio.timeout(PATIENCE):
        view: dict[str, Any] = {}
        while view.get("source") != "reported":
            _, view = await owner.post("/api/language", chat="web:desk")
            await asyncio.sleep(0.01)
    assert view["language"] == "zh"
    # A program that names no language changes nothing.
    await owner.post(path, text="/language")
    _, view = await owner.post("/api/language", chat="web:desk")
    assert (view["language"], view["source"]) == ("zh", "reported")
