"""The gateway answers over HTTP in the language that the client asks for."""

from __future__ import annotations

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
