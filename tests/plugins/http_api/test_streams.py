"""Watching over HTTP: nothing is lost and nothing comes twice, whoever reads how slowly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from nanobot.plugins.http_api import streams
from nanobot.testing.machine import PATIENCE
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.server.housing import Client, House, house

DESK = "/api/sessions/web:desk"


class Reader:
    """Reads server-sent events."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.last = ""

    async def item(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while True:
                line = (await self._response.content.readline()).decode()
                assert line, "the stream ended"
                if line.startswith("id: "):
                    self.last = line[4:].strip()
                if line.startswith("data: "):
                    item: dict[str, Any] = json.loads(line[6:])
                    assert item["id"] == self.last
                    return item

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """The items up to the event of that kind."""
        items = []
        while True:
            items.append(await self.item())
            if items[-1].get("event", {}).get("kind") == kind:
                return items


@asynccontextmanager
async def reading(client: Client, path: str, after: str = "") -> AsyncIterator[Reader]:
    headers = client.headers | ({"Last-Event-ID": after} if after else {})
    async with client.session.get(client.url + path, headers=headers) as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield Reader(response)


def texts(items: list[dict[str, Any]]) -> str:
    """What the model said, by its pieces."""
    events = [item["event"] for item in items if item["type"] == "event"]
    return "".join(e["payload"]["text"] for e in events if e["kind"] == "model_delta")


async def test_an_answer_is_seen_as_it_is_written(owner: Client) -> None:
    async with reading(owner, f"{DESK}/events") as reader:
        first = await reader.item()
        assert (first["type"], first["snapshot"]["session"]) == ("snapshot", None)
        await owner.post(f"{DESK}/messages", text="hello")
        items = await reader.until("end")
    assert items[0]["type"] == "said"
    assert items[0]["said"]["text"] == "hello"
    assert texts(items) == "echo: hello"


async def test_a_lost_connection_is_taken_up_where_it_was(tmp_path: Path) -> None:
    held = Held("one ")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served:
        owner = await served.owner()
        async with reading(owner, f"{DESK}/events") as reader:
            await reader.item()
            await owner.post(f"{DESK}/messages", text="go")
            await held.reached.wait()
            seen = await reader.until("model_delta")
        held.say("two ")
        held.say("three")
        held.answer("one two three")
        async with reading(owner, f"{DESK}/events", reader.last) as again:
            rest = await again.until("end")
        ids = [item["id"] for item in seen + rest]
        assert len(set(ids)) == len(ids)
        assert texts(seen + rest).startswith("one two three")
        assert "snapshot" not in {item["type"] for item in rest}


@pytest.mark.parametrize("after", ["", "nonsense", "00000000-5", "x-" + "9" * 40])
async def test_who_comes_later_gets_how_it_stands_and_then_what_comes(
    tmp_path: Path, after: str
) -> None:
    held = Held("so far")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served:
        owner = await served.owner()
        async with reading(owner, f"{DESK}/events") as first:
            await first.item()
            await owner.post(f"{DESK}/messages", text="go")
            await held.reached.wait()
            await first.until("model_delta")
            async with reading(owner, f"{DESK}/events", after) as reader:
                snapshot = (await reader.item())["snapshot"]
                assert snapshot["partial"]["text"] == "so far"
                assert snapshot["session"]["run"] == snapshot["events"][0]["run_id"]
                assert snapshot["entries"][0]["body"]["text"] == "go"
                held.say(" and on")
                held.answer("so far and on")
                items = await reader.until("end")
    assert texts(items).startswith(" and on")


async def test_what_has_left_the_ring_is_made_up_for_by_a_snapshot(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RING_BYTES", 2_000)
    owner = await served.owner()
    async with reading(owner, f"{DESK}/events") as reader:
        await reader.item()
        await owner.post(f"{DESK}/messages", text="one")
        await reader.until("end")
        early = reader.last
        await owner.post(f"{DESK}/messages", text="two " * 500)
        # Who reads more slowly than things happen has lost the end, and gets a snapshot instead.
        while (item := await reader.item())["type"] != "snapshot":
            if item.get("event", {}).get("kind") == "end":
                break
    async with reading(owner, f"{DESK}/events", early) as again:
        snapshot = (await again.item())["snapshot"]
    shown = [entry["body"].get("text", "") for entry in snapshot["entries"]]
    assert any(text.startswith("two two") for text in shown)


async def test_a_command_is_answered_by_a_message(owner: Client) -> None:
    async with reading(owner, f"{DESK}/events") as reader:
        await reader.item()
        await owner.post(f"{DESK}/messages", text="/help cron")
        while (item := await reader.item())["type"] != "message":
            pass
    assert item["message"]["kind"] == "notice"
    assert "/cron list" in item["message"]["text"]


async def test_everything_is_seen_by_owners_but_for_single_tokens(served: House) -> None:
    owner, member = await served.owner(), await served.program("anna", "member")
    assert (await member.get(f"{DESK}/events"))[0] == 403
    async with reading(owner, "/api/events") as reader:
        assert (await reader.item())["snapshot"]["sessions"] == []
        await owner.post("/api/sessions/web:one/messages", text="a")
        items = await reader.until("end")
        await owner.post("/api/sessions/web:two/messages", text="b")
        items += await reader.until("end")
    assert {item["session_key"] for item in items} == {"web:one", "web:two"}
    assert texts(items) == ""


async def test_a_member_sees_what_is_theirs_of_everything(served: House) -> None:
    owner, member = await served.owner(), await served.program("anna", "member")
    own = (await member.get("/api/me"))[1]["session"]
    async with reading(owner, "/api/events") as reader:
        await reader.item()
        for client, session in ((owner, "web:desk"), (member, own)):
            await client.post(f"/api/sessions/{session}/messages", text="hello")
            await reader.until("end")
    async with reading(member, "/api/events") as reader:
        overview = (await reader.item())["snapshot"]
    assert [row["key"] for row in overview["sessions"]] == [own]


@pytest.mark.process
async def test_who_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    answers = [Held("x" * 1_000_000) for _ in range(12)]
    async with house(tmp_path / "home", ScriptedProvider(*answers)) as served:
        owner = await served.owner()
        path = f"{DESK}/events"
        async with reading(owner, path) as idle, reading(owner, path) as reader:
            await reader.item()
            for held in answers:
                await owner.post(f"{DESK}/messages", text="more")
                await held.reached.wait()
                held.answer("done")
                await run_over(reader)
            assert (await idle.item())["type"] == "snapshot"


async def run_over(reader: Reader) -> None:
    """Until the run has ended. An answer is larger than what is kept for readers, so one that is
    not quick enough is told by a snapshot.
    """
    while True:
        item = await reader.item()
        if item.get("event", {}).get("kind") == "end":
            return
        if item["type"] == "snapshot" and not item["snapshot"]["events"]:
            return


async def test_a_stream_ends_when_the_gateway_stops(tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        async with owner.session.get(
            f"{served.url}{DESK}/events", headers=owner.headers
        ) as response:
            await response.content.readline()
            await served.parts.http.drain()
            async with asyncio.timeout(PATIENCE):
                await response.content.read()


# The WebSocket


class Talk:
    """Talks over /ws."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.items: list[dict[str, Any]] = []

    async def ask(self, op: str, **request: Any) -> Any:
        """The answer to it; what comes meanwhile is kept."""
        await self._socket.send_json({"op": op, "key": "k", **request})
        while True:
            item = await self.next()
            if item["type"] in ("result", "error"):
                assert item["key"] in ("k", "")
                return item.get("result", item.get("error"))
            self.items.append(item)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            item: dict[str, Any] = await self._socket.receive_json()
            return item

    async def follow(self, session: str) -> None:
        """Follow, and see how it stands."""
        assert await self.ask("follow", session=session) is True
        while "snapshot" not in {item["type"] for item in self.items}:
            self.items.append(await self.next())

    async def until(self, kind: str) -> None:
        while kind not in {item.get("event", {}).get("kind") for item in self.items}:
            self.items.append(await self.next())


@asynccontextmanager
async def talking(client: Client, **headers: str) -> AsyncIterator[Talk]:
    sent = client.headers | headers
    async with client.session.ws_connect(f"{client.url}/ws", headers=sent) as socket:
        yield Talk(socket)


async def test_everything_goes_over_one_socket(tmp_path: Path) -> None:
    script = (asks_for("write_file", path="a.txt", content="x"), "done")
    async with house(tmp_path / "home", ScriptedProvider(*script)) as served:
        owner = await served.owner()
        await served.parts.operations.call("status", {})
        async with talking(owner) as talk:
            await talk.follow("web:desk")
            taken = await talk.ask("say", session="web:desk", message={"text": "go"})
            assert taken["fresh"]
            await talk.until("end")
            assert (await talk.ask("call", name="runs list"))[0]["state"] == "completed"
            assert await talk.ask("leave", session="web:desk") is True
            assert await talk.ask("leave", session="web:desk") is False
    kinds = [item["event"]["kind"] for item in talk.items if item["type"] == "event"]
    assert "tool_result" in kinds
    assert kinds[-1] == "end"


async def test_a_run_is_cancelled_over_the_socket(tmp_path: Path) -> None:
    held = Held("working")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served:
        owner = await served.owner()
        async with talking(owner) as talk:
            await talk.follow("web:desk")
            await talk.ask("say", session="web:desk", message={"text": "go"})
            await held.reached.wait()
            stopped = await talk.ask("call", name="stop", arguments={"session": "web:desk"})
            assert stopped["run"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"op": "fly"}, "bad_request"),
        ({"op": "follow", "session": 7}, "bad_request"),
        ({"op": "call", "name": "help", "arguments": []}, "bad_request"),
        ({"op": "call", "name": "fly"}, "bad_request"),
        ({"op": "call", "name": "runs show", "arguments": {"id": "none"}}, "unknown"),
        ({"op": "call", "name": "runs show", "arguments": {"id": 3}}, "bad_request"),
        ({"op": "say", "session": "web:", "message": {"text": "hi"}}, "bad_request"),
        ({"op": "say", "session": "web:=a", "message": {"text": "hi"}}, "bad_request"),
        ({"op": "say", "session": "slack:1", "message": {"text": "hi"}}, "unknown"),
        ({"op": "say", "session": "web:a", "message": {}}, "bad_request"),
        ({"op": "follow", "session": "x" * 400}, "unknown"),
    ],
)
async def test_what_is_wrong_over_the_socket_is_said_and_it_goes_on(
    served: House, request_: dict[str, Any], code: str
) -> None:
    async with talking(await served.owner()) as talk:
        assert (await talk.ask(**request_))["code"] == code
        assert (await talk.ask("call", name="help"))[0]["usage"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"op": "follow", "session": 7, "key": 8}',
        b'{"op": "say", "op": "leave", "session": "web:a"}',
        b'{"op": "say", "session": "web:a", "message": {"text": "x", "more": 1}}',
    ],
)
async def test_what_is_no_request_is_answered_and_the_socket_lives(
    owner: Client, raw: bytes
) -> None:
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        await socket.send_bytes(raw)
        answer = await socket.receive_json(timeout=PATIENCE)
        assert (answer["type"], answer["error"]["code"]) == ("error", "bad_request")
        await socket.send_json({"op": "call", "name": "approvals list", "key": "k"})
        assert (await socket.receive_json(timeout=PATIENCE))["key"] == "k"


async def test_a_request_that_is_refused_by_its_form_is_answered_by_its_key(owner: Client) -> None:
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        await socket.send_json({"op": "follow", "session": 7, "key": "mine"})
        assert (await socket.receive_json(timeout=PATIENCE))["key"] == "mine"


async def test_a_request_that_fails_here_is_answered_by_its_key_and_the_socket_lives(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As over HTTP and the control socket: an operation of a plugin may fail in any way."""

    async def perform(*_: Any) -> Any:
        raise ZeroDivisionError

    owner, usage = await served.owner(), served.parts.operations.named("usage")
    monkeypatch.setitem(vars(usage), "perform", perform)
    assert (await owner.get("/api/usage"))[1]["error"]["code"] == "internal"
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        await socket.send_json({"op": "call", "name": "usage", "key": "mine"})
        answer = await socket.receive_json(timeout=PATIENCE)
        assert (answer["key"], answer["error"]["code"]) == ("mine", "internal")
        await socket.send_json({"op": "call", "name": "approvals list", "key": "next"})
        assert (await socket.receive_json(timeout=PATIENCE))["key"] == "next"


@pytest.mark.process
async def test_a_slow_request_keeps_no_other_waiting_over_the_socket(
    served: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests are answered in their order, but for those that take longer than a second."""
    go = asyncio.Event()

    async def perform(*_: Any) -> Any:
        await go.wait()

    owner, usage = await served.owner(), served.parts.operations.named("usage")
    monkeypatch.setitem(vars(usage), "perform", perform)
    async with owner.session.ws_connect(f"{owner.url}/ws", headers=owner.headers) as socket:
        for key in ("slow", "slow, too"):
            await socket.send_json({"op": "call", "name": "usage", "key": key})
        await socket.send_json({"op": "call", "name": "approvals list", "key": "next"})
        assert (await socket.receive_json(timeout=PATIENCE))["key"] == "next"
        go.set()
        late = {(await socket.receive_json(timeout=PATIENCE))["key"] for _ in range(2)}
        assert late == {"slow", "slow, too"}


async def test_a_message_that_is_too_large_closes_the_socket_and_no_other(owner: Client) -> None:
    url = f"{owner.url}/ws"
    async with (
        owner.session.ws_connect(url, headers=owner.headers) as loud,
        owner.session.ws_connect(url, headers=owner.headers) as quiet,
    ):
        with suppress(ConnectionError):  # it may be closed while this is on its way
            await loud.send_str("x" * 5_000_000)
        await loud.receive(timeout=PATIENCE)
        assert loud.closed
        for number in range(2_000):
            await quiet.ping(str(number).encode())
        await quiet.send_json({"op": "call", "name": "approvals list", "key": "k"})
        assert (await quiet.receive_json(timeout=PATIENCE))["key"] == "k"


@pytest.mark.parametrize("after", ["x", "-", "1-", "zz-1", "x" * 5_000, "1f2e3d4c-9" + "9" * 30])
async def test_an_id_that_nobody_gave_begins_with_a_snapshot(owner: Client, after: str) -> None:
    async with reading(owner, "/api/sessions/web:desk/events", after) as reader:
        assert (await reader.item())["type"] == "snapshot"


async def test_members_have_their_own_conversation_over_the_socket(served: House) -> None:
    async with talking(await served.program("anna", "member")) as talk:
        assert (await talk.ask("follow", session="web:desk"))["code"] == "not_allowed"
        assert await talk.ask("call", name="sessions list") == []
        assert await talk.ask("follow", session="web:~anna") is True
        answer = await talk.ask("say", session="web:~anna", message={"text": "hi"})
        assert answer["session_key"] == "web:~anna"


async def test_a_strange_page_gets_no_socket(served: House) -> None:
    browser, stranger = await served.browser(), await served.stranger()
    own = served.url
    for client, origin, status in (
        (stranger, own, 401),
        (browser, "http://evil.example", 403),
        (browser, "http://127.0.0.1:1", 403),
        (browser, "", 403),
    ):
        headers = {"Origin": origin} if origin else {}
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with talking(client, **headers):
                pass
        assert refused.value.status == status, (origin, refused.value)
    async with talking(browser, Origin=own) as talk:
        assert (await talk.ask("call", name="status"))["version"]
    assert (await browser.get("/ws"))[0] in {403, 426}


async def test_two_tabs_see_the_same(served: House) -> None:
    browser = await served.browser()
    async with (
        talking(browser, Origin=served.url) as tab_one,
        talking(browser, Origin=served.url) as tab_two,
    ):
        for tab in (tab_one, tab_two):
            await tab.follow("web:desk")
        await tab_one.ask("say", session="web:desk", message={"text": "hello"})
        for tab in (tab_one, tab_two):
            await tab.until("end")
    first, second = ({item["id"]: item for item in tab.items} for tab in (tab_one, tab_two))
    shared = first.keys() & second.keys()
    assert {key: first[key] for key in shared} == {key: second[key] for key in shared}
    assert texts(tab_one.items) == texts(tab_two.items) == "echo: hello"


async def test_a_revoked_token_is_let_in_no_more(served: House) -> None:
    program = await served.program("laptop", "owner")
    async with talking(program) as talk:
        assert (await talk.ask("call", name="status"))["version"]
        await served.parts.operations.call("web tokens revoke", {"name": "laptop"})
        assert (await talk.ask("call", name="status"))["code"] == "unauthorized"


async def test_who_leaves_a_socket_in_the_middle_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = Held("working")
    async with house(tmp_path / "home", ScriptedProvider(held)) as served:
        owner = await served.owner()
        async with talking(owner) as talk:
            await talk.follow("web:desk")
            await talk.ask("say", session="web:desk", message={"text": "go"})
            await held.reached.wait()
        for number in range(20):
            held.say(f" {number}")
            await asyncio.sleep(0)
        held.answer("done")
        async with reading(owner, f"{DESK}/events") as reader:
            await reader.item()
    assert "ERROR" not in capsys.readouterr().err


async def test_a_head_of_a_stream_ends(served: House, owner: Client) -> None:
    async with asyncio.timeout(PATIENCE):
        url = f"{served.url}{DESK}/events"
        async with owner.session.head(url, headers=owner.headers) as response:
            assert response.status == 200
