"""Conversations of the page are chats like any other: they can be written to, and what is said
there is unread until somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot.config.loader import load
from nanobot.errors import ConfigError
from nanobot.plugins.events.service import check_chat
from nanobot.plugins.heartbeat.service import rhythm_of
from nanobot.plugins.hooks.checks import wrong
from nanobot.testing.machine import PATIENCE
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.server.housing import Client, House, house
from tests.stored import outbox_of


async def until(found: Callable[[], Awaitable[Any]]) -> Any:
    """What is found once it is something."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if result := await found():
                return result
            await asyncio.sleep(0.01)


async def row(owner: Client, key: str) -> dict[str, Any] | None:
    """A conversation as the list has it, once nothing runs or waits there."""
    _, rows = await owner.get("/api/sessions/list")
    found = next((each for each in rows if each["key"] == key), None)
    return found if found and not found["run"] and not found["waiting"] else None


async def delivered(served: House, text: str) -> bool:
    """Whether a message of that text was sent."""
    sent = await outbox_of(served.parts.engine.records).listed(state="sent", limit=50)
    return any(text in message.text for message in sent)


async def test_an_answer_is_unread_until_somebody_looks_at_it(tmp_path: Path) -> None:
    async with house(tmp_path / "home", ScriptedProvider("the answer")) as served:
        owner = await served.owner()
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        await until(lambda: delivered(served, "the answer"))
        seen = await until(lambda: row(owner, "web:desk"))
        assert seen["has_unread"]
        _, listed = await owner.get("/api/sessions/list", unread=True)
        assert [each["key"] for each in listed] == ["web:desk"]
        # Whoever saw the question alone has not seen the answer.
        _, partly = await owner.post("/api/sessions/mark-read", session="web:desk", entry=1)
        assert partly["has_unread"]
        _, read = await owner.post(
            "/api/sessions/mark-read", session="web:desk", entry=seen["entries"]
        )
        assert not read["has_unread"]
        _, earlier = await owner.post("/api/sessions/mark-read", session="web:desk", entry=1)
        assert not earlier["has_unread"]


async def test_a_notice_that_no_log_has_is_unread_too(served: House) -> None:
    owner = await served.owner()
    await owner.post("/api/sessions/web:desk/messages", text="hello")
    await until(lambda: row(owner, "web:desk"))
    await owner.post("/api/sessions/mark-read", session="web:desk")
    await owner.post("/api/sessions/web:desk/messages", text="/help")
    await until(lambda: delivered(served, "/stop"))

    async def unread() -> bool:
        found = await row(owner, "web:desk")
        return bool(found and found["has_unread"])

    assert await until(unread)


@pytest.mark.parametrize("there", [True, False])
async def test_a_job_speaks_into_a_conversation_of_the_page(served: House, there: bool) -> None:
    owner = await served.owner()
    if there:
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        await until(lambda: row(owner, "web:desk"))
        await owner.post("/api/sessions/mark-read", session="web:desk")
    code, job = await owner.post(
        "/api/cron/add", text="every 2 hours Drink water", name="water", to="web:desk", send=True
    )
    assert (code, job["to"]) == (200, "web:desk"), job
    await owner.post("/api/cron/run", job="water")
    await until(lambda: delivered(served, "Drink water"))
    seen = await until(lambda: row(owner, "web:desk"))
    assert seen["has_unread"]
    _, page = await owner.get("/api/sessions/web:desk/entries")
    assert [each["body"]["text"] for each in page["entries"] if each["kind"] == "post"] == [
        "Drink water"
    ]


async def test_the_answer_of_a_job_is_unread_where_it_is_said_and_not_twice(
    tmp_path: Path,
) -> None:
    async with house(tmp_path / "home", ScriptedProvider("all is well")) as served:
        owner = await served.owner()
        await owner.post(
            "/api/cron/add", text="every 2 hours Look at it", name="look", to="web:desk"
        )
        await owner.post("/api/cron/run", job="look")
        await until(lambda: delivered(served, "all is well"))
        await until(lambda: row(owner, "web:desk"))
        _, listed = await owner.get("/api/sessions/list", unread=True)
        assert [each["key"] for each in listed] == ["web:desk"]


async def test_a_conversation_of_the_page_is_told_something(served: House) -> None:
    owner = await served.owner()
    code, told = await owner.post("/api/notify", chat="web:desk", text="The backup is done.")
    assert (code, told["session_key"]) == (200, "web:desk"), told
    await until(lambda: delivered(served, "The backup is done."))
    assert (await until(lambda: row(owner, "web:desk")))["has_unread"]
    code, refused = await owner.post("/api/notify", chat="nowhere:1", text="x")
    assert code == 400
    assert "web" in refused["error"]["message"]


async def test_a_message_of_the_command_line_is_answered_on_the_page(tmp_path: Path) -> None:
    async with house(tmp_path / "home", ScriptedProvider("the answer")) as served:
        sent = await served.parts.operations.call("send", {"text": "hi", "session": "web:desk"})
        assert sent.address == "web:desk"
        await until(lambda: delivered(served, "the answer"))


async def test_the_model_writes_into_another_conversation_of_the_page(tmp_path: Path) -> None:
    message = asks_for("message", content="from the desk", channel="web", chat_id="news")
    async with house(tmp_path / "home", ScriptedProvider(message, "done")) as served:
        owner = await served.owner()
        await owner.post("/api/sessions/web:desk/messages", text="tell them")
        await until(lambda: delivered(served, "from the desk"))
        assert (await until(lambda: row(owner, "web:news")))["has_unread"]


async def test_a_name_that_no_conversation_can_have_is_refused(owner: Client) -> None:
    code, refused = await owner.post(
        "/api/cron/add", text="every 2 hours Look", to="web:=telegram:1"
    )
    assert (code, refused["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize("enabled", [True, False])
def test_every_setting_that_names_a_chat_takes_one_of_the_page(
    tmp_path: Path, enabled: bool
) -> None:
    (tmp_path / "config.toml").write_text(
        f"[web]\nenabled = {str(enabled).lower()}\n"
        '[heartbeat]\nto = "web:desk"\n[events]\nto = "web:desk"\n'
        '[hooks.ci]\nsecret = "it is a secret to everybody"\nto = "web:desk"\nprompt = "{n}"\n'
    )
    config = load({"NANOBOT_HOME": str(tmp_path)})
    if enabled:
        rhythm_of(config, "UTC")
        check_chat(config)
        assert wrong(config) == []
        return
    for check in (lambda: rhythm_of(config, "UTC"), lambda: check_chat(config)):
        with pytest.raises(ConfigError, match="web:desk"):
            check()
    assert len(wrong(config)) == 1
