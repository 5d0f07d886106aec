"""The HTTP API of a whole gateway: made from the operations, asked by programs and browsers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from yarl import URL

from nanobot.operations.catalogue import OPERATIONS
from nanobot.plugins.web_access.named import LINK_SECONDS
from nanobot.testing.machine import PATIENCE
from tests.server.housing import TOKEN, Client, House, house
from tests.stored import lists_of


async def settled(served: House, session: str, entries: int) -> None:
    """The session's log has so many entries."""
    async with asyncio.timeout(PATIENCE):
        while True:
            row = await lists_of(served.parts.engine.records).one(session)
            if row is not None and row.entries >= entries and row.run is None:
                return
            await asyncio.sleep(0.01)


async def test_every_operation_is_a_route_and_is_described(served: House) -> None:
    stranger = await served.stranger()
    code, described = await stranger.get("/openapi.json")
    assert (code, described["openapi"]) == (200, "3.1.0")
    owner = await served.owner()
    for operation in OPERATIONS:
        path = f"/api/{operation.name.replace(' ', '/')}"
        if not operation.listed:
            assert path not in described["paths"]
            continue
        method = "get" if operation.reads else "post"
        assert set(described["paths"][path]) == {method}, path
        wrong = "POST" if operation.reads else "GET"
        assert (await owner.ask(wrong, path))[0] == 405
        assert (await stranger.ask(method.upper(), path))[0] == 401


async def test_what_is_read_takes_a_query_and_what_changes_takes_json(owner: Client) -> None:
    assert await owner.get("/api/runs/list", state="live", limit=5) == (200, [])
    code, job = await owner.post("/api/cron/add", text="every 2 hours Look", name="look")
    assert (code, job["name"]) == (200, "look")
    code, rows = await owner.get("/api/cron/list")
    assert (code, [row["name"] for row in rows]) == (200, ["look"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/runs/list?limit=many", None, 400, "bad_request"),
        ("GET", "/api/runs/list?nothing=1", None, 400, "bad_request"),
        ("GET", "/api/runs/list?limit=1&limit=2", None, 400, "bad_request"),
        ("GET", "/api/runs/show?id=none", None, 404, "unknown"),
        ("GET", "/api/prompts/show?name=none", None, 404, "unknown"),
        ("GET", "/api/help?text=none", None, 404, "unknown"),
        ("POST", "/api/mcp/enable", b'{"name": "none"}', 404, "unknown"),
        ("POST", "/api/hooks/test", b'{"name": "none"}', 404, "unknown"),
        ("GET", "/api/sessions/nowhere/entries", None, 404, "unknown"),
        ("GET", "/api/sessions/web%3Aa/entries?limit=9999", None, 400, "bad_request"),
        ("POST", "/api/approve", b'{"id": 7}', 404, "unknown"),
        ("POST", "/api/cron/remove", b'{"job": "none"}', 404, "unknown"),
        ("POST", "/api/cron/add", b"{", 400, "bad_request"),
        ("POST", "/api/cron/add", b"[1]", 400, "bad_request"),
        ("POST", "/api/cron/add", b'{"text": 3}', 400, "bad_request"),
        ("POST", "/api/cron/add", b'{"text": "\xff"}', 400, "bad_request"),
        ("POST", "/api/cron/add", b"[" * 100_000, 400, "bad_request"),
        ("POST", "/api/sessions/telegram%3A1/messages", b'{"text": "hi"}', 404, "unknown"),
        ("POST", "/api/sessions/web%3Aa/messages", b"{}", 400, "bad_request"),
        ("POST", "/api/sessions/web%3Aa/messages", b'{"words": "hi"}', 400, "bad_request"),
        ("GET", "/api/nothing/here", None, 404, "not_found"),
    ],
)
async def test_what_is_wrong_is_said_in_an_error_object(
    method: str, path: str, body: bytes | None, status: int, code: str, owner: Client
) -> None:
    headers = {"Content-Type": "application/json"} if body else {}
    answered, answer = await owner.ask(method, path, data=body, headers=headers)
    assert (answered, answer["error"]["code"]) == (status, code)
    assert answer["error"]["message"]


async def test_what_a_form_of_another_site_could_send_is_refused(owner: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"Content-Type": kind}
        answered, _ = await owner.ask("POST", "/api/reload", data=b"{}", headers=headers)
        assert answered == 415, kind


async def test_a_message_is_taken_once_and_its_answer_stands_in_the_log(served: House) -> None:
    owner = await served.owner()
    message = {"text": "hello", "client_request_id": "one"}
    code, first = await owner.post("/api/sessions/web:desk/messages", **message)
    assert (code, first["fresh"], first["session_key"]) == (200, True, "web:desk")
    code, again = await owner.post("/api/sessions/web:desk/messages", **message)
    assert (code, again["fresh"]) == (200, False)
    await settled(served, "web:desk", 4)
    code, page = await owner.get("/api/sessions/web:desk/entries")
    texts = [entry["body"].get("text") for entry in page["entries"]]
    assert texts.count("hello") == 1
    assert texts[-1] == "echo: hello"
    assert (await owner.get("/api/status"))[1]["owed"] == 0


async def test_the_same_id_sent_many_times_at_once_is_one_message(owner: Client) -> None:
    path = "/api/sessions/web:desk/messages"
    same = [owner.post(path, text="hello\r\n", client_request_id="one") for _ in range(20)]
    answers = await asyncio.gather(*same)
    assert {code for code, _ in answers} == {200}
    assert [taken["fresh"] for _, taken in answers].count(True) == 1
    assert [bool(taken["inbound_id"]) for _, taken in answers].count(True) == 1


async def test_another_message_by_a_known_id_is_not_lost_without_a_word(owner: Client) -> None:
    path = "/api/sessions/web:desk/messages"
    texts = [f"text {number}" for number in range(10)]
    others = [owner.post(path, text=text, client_request_id="one") for text in texts]
    answers = await asyncio.gather(*others)
    assert sorted(code for code, _ in answers) == [200] + [409] * 9
    assert all(
        "choose a new one" in refused["error"]["message"] for c, refused in answers if c == 409
    )
    won = next(text for text, (code, _) in zip(texts, answers, strict=True) if code == 200)
    assert (await owner.post(path, text=won, client_request_id="one"))[1]["fresh"] is False
    code, _ = await owner.post(path, text="/status", client_request_id="two")
    assert code == 200
    assert (await owner.post(path, text="/status", client_request_id="two"))[1]["fresh"] is False
    assert (await owner.post(path, text="/help", client_request_id="two"))[0] == 409
    elsewhere = "/api/sessions/web:other/messages"
    assert (await owner.post(elsewhere, text="x", client_request_id="one"))[1]["fresh"] is True


async def test_commands_are_understood_as_in_a_chat(owner: Client) -> None:
    code, taken = await owner.post("/api/sessions/web:desk/messages", text="/status")
    assert (code, taken["answered"]) == (200, True)


async def test_entries_are_read_by_range(served: House, owner: Client) -> None:
    for number in range(3):
        await owner.post("/api/sessions/web:desk/messages", text=f"message {number}")
        await settled(served, "web:desk", 4 + 3 * number)
    _, whole = await owner.get("/api/sessions/web:desk/entries", limit=500)
    seqs = [entry["seq"] for entry in whole["entries"]]
    assert seqs == list(range(1, whole["session"]["entries"] + 1))

    async def window(**query: int) -> list[int]:
        _, page = await owner.get("/api/sessions/web:desk/entries", **query)
        return [entry["seq"] for entry in page["entries"]]

    assert await window(limit=2) == seqs[-2:]
    assert await window(limit=2, before=4) == [2, 3]
    assert await window(limit=2, before=2) == [1]
    assert await window(limit=2, before=1) == []
    assert await window(limit=2, after=0) == [1, 2]
    assert await window(limit=2, after=seqs[-1]) == []
    assert await window(limit=2, before=10**6) == seqs[-2:]


@pytest.mark.parametrize(
    "asked",
    [
        *(f"entries?{end}={'9' * digits}" for end in ("before", "after") for digits in (19, 30)),
        *(f"notices?since={since}" for since in ("inf", "nan", "1e308", "1e400")),
    ],
)
async def test_a_range_without_an_end_is_refused(owner: Client, asked: str) -> None:
    code, told = await owner.get(f"/api/sessions/web:desk/{asked}")
    assert code == 400
    assert asked.partition("?")[2].partition("=")[0] in told["error"]["message"]


async def test_a_link_opens_the_page_once(served: House) -> None:
    link = await served.parts.operations.call("web link", {})
    assert link.url.startswith(f"{served.url}/#login=")
    assert link.seconds == LINK_SECONDS
    secret = link.url.partition("=")[2]
    browser, thief = await served.stranger(), await served.stranger()
    async with browser.session.post(f"{served.url}/api/login", json={"secret": secret}) as response:
        assert response.status == 200
        set_cookie = response.headers["Set-Cookie"]
    assert re.search(r"; HttpOnly", set_cookie)
    assert re.search(r"; SameSite=Strict", set_cookie)
    assert "; Secure" not in set_cookie
    assert (await thief.post("/api/login", secret=secret))[0] == 401
    code, me = await browser.get("/api/me")
    assert (code, me["role"], me["session"]) == (200, "owner", "cli:direct")


async def test_a_page_shows_its_csrf_token_with_every_change(served: House) -> None:
    browser = await served.browser()
    assert (await browser.get("/api/status"))[0] == 200
    assert (await browser.post("/api/reload"))[0] == 200
    for wrong in ("", "x", browser.headers["X-CSRF-Token"][:-1], "\u00e9"):
        browser.headers["X-CSRF-Token"] = wrong
        code, body = await browser.post("/api/reload")
        assert (code, body["error"]["code"]) == (403, "csrf")
        assert (await browser.get("/api/status"))[0] == 200


async def test_a_browser_that_logged_out_is_a_stranger(served: House) -> None:
    browser = await served.browser()
    cookie = browser.cookie()
    name = next(each.key for each in browser.session.cookie_jar)
    assert (await browser.post("/api/logout"))[0] == 200
    assert browser.cookie() == ""
    thief = await served.stranger()
    code, _ = await thief.ask("GET", "/api/me", headers={"Cookie": f"{name}={cookie}"})
    assert code == 401


async def test_browsers_and_tokens_are_listed_without_their_secrets_and_revoked(
    served: House,
) -> None:
    browser, program = await served.browser(), await served.program("laptop", "owner")
    assert (await program.get("/api/status"))[0] == 200
    _, rows = await program.get("/api/web/tokens/list")
    assert {(row["name"], row["kind"], row["role"]) for row in rows} == {
        ("browser", "browser", "owner"),
        ("laptop", "token", "owner"),
    }
    shown = program.headers["Authorization"].partition(" ")[2]
    assert shown not in str(rows)
    assert browser.cookie() not in str(rows)
    for name, client in (("browser", browser), ("laptop", program)):
        await served.parts.operations.call("web tokens revoke", {"name": name})
        assert (await client.get("/api/status"))[0] == 401
    database = b"".join(path.read_bytes() for path in served.home.glob("state.db*"))
    assert shown.encode() not in database


async def test_a_cookie_is_no_token_and_a_token_no_cookie(served: House) -> None:
    browser, program = await served.browser(), await served.program("laptop", "owner")
    token = program.headers["Authorization"].partition(" ")[2]
    name = next(each.key for each in browser.session.cookie_jar)
    stranger = await served.stranger()
    for headers in (
        {"Authorization": f"Bearer {browser.cookie()}"},
        {"Cookie": f"{name}={token}"},
        {"Cookie": f"{name}={TOKEN}"},
        {"Cookie": f"{name}="},
        {"Authorization": "Bearer wrong", "Cookie": f"{name}={browser.cookie()}"},
    ):
        assert (await stranger.ask("GET", "/api/me", headers=headers))[0] == 401, headers


async def test_members_and_guests_are_what_they_are_in_chats(served: House) -> None:
    member, guest = await served.program("anna", "member"), await served.program("bob", "guest")
    code, body = await guest.get("/api/sessions/list")
    assert (code, body["error"]["code"]) == (403, "not_allowed")
    assert await member.get("/api/sessions/list") == (200, [])
    for client in (member, guest):
        assert (await client.post("/api/web/link"))[0] == 403
    assert (await member.get("/api/status"))[1]["session_key"] == "web:~anna"
    assert (await guest.get("/api/status"))[0] == 403
    assert (await guest.get("/api/help"))[0] == 200
    assert (await member.get("/api/status", session="web:~bob"))[0] == 403
    assert (await member.post("/api/sessions/web:~anna/messages", text="hi"))[0] == 200
    await settled(served, "web:~anna", 4)
    assert (await member.get("/api/sessions/web:~anna/entries"))[0] == 200
    for path in ("/api/sessions/web:~bob", "/api/sessions/cli:direct"):
        assert (await member.get(f"{path}/entries"))[0] == 403
        assert (await member.post(f"{path}/messages", text="hi"))[0] == 403


async def test_who_guesses_has_to_wait_and_who_is_in_goes_on(served: House) -> None:
    owner, guesser = await served.owner(), await served.stranger()
    assert (await owner.get("/api/me"))[0] == 200
    codes = [(await guesser.post("/api/login", secret=f"guess {n}"))[0] for n in range(30)]
    assert set(codes) == {401, 429}
    guesser.headers["Authorization"] = "Bearer guess"
    assert (await guesser.get("/api/me"))[0] == 429
    assert (await owner.get("/api/me"))[0] == 200


async def test_a_right_token_and_a_right_link_open_where_others_have_guessed(served: House) -> None:
    owner, guesser = await served.owner(), await served.stranger()
    _, new = await owner.post("/api/web/tokens/add", name="anna", role="member")
    _, link = await owner.post("/api/web/link")
    codes = []
    for number in range(30):
        guesser.headers["Authorization"] = f"Bearer {number:043}"
        codes.append((await guesser.get("/api/me"))[0])
    assert codes[-1] == 429
    guesser.headers["Authorization"] = f"Bearer {new['token']}"
    assert (await guesser.get("/api/me"))[0] == 200
    del guesser.headers["Authorization"]
    secret = link["url"].partition("#login=")[2]
    assert (await guesser.post("/api/login", secret=secret))[0] == 200


async def test_the_page_comes_with_a_strict_policy_compressed_and_once(served: House) -> None:
    session = (await served.stranger()).session
    async with session.get(served.url) as page:
        text = await page.text()
        assert page.status == 200
        assert page.headers["Content-Encoding"] == "gzip"
        policy = page.headers["Content-Security-Policy"]
        etag = page.headers["ETag"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|https?://", text)
    async with session.get(served.url, headers={"If-None-Match": etag}) as again:
        assert (again.status, await again.read()) == (304, b"")
    plain = {"Accept-Encoding": "identity"}
    async with session.get(f"{served.url}/docs", headers=plain) as docs:
        assert docs.status == 200
        assert "Content-Encoding" not in docs.headers
    (set_of_files,) = set(re.findall(r'"(page/[0-9a-f]{16}/)', text))
    base = f"{served.url}/{set_of_files}"
    async with session.get(f"{base}docs.js") as script:
        assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert "immutable" in script.headers["Cache-Control"]
    for path in ("../access.py", "%2e%2e/access.py", "..%2faccess.py", "nothing.js", ""):
        async with session.get(URL(base + path, encoded=True)) as none:
            assert none.status in {403, 404}, path
    async with session.get(f"{served.url}/page/{'0' * 16}/app.js") as other:
        assert other.status == 404
        assert (await other.json())["error"]["code"] == "other_version"
        assert other.headers["Cache-Control"] == "no-store"


async def test_behind_a_trusted_proxy_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    for proxies, secure in (('["127.0.0.1"]', True), ("[]", False)):
        async with house(tmp_path / "home", web=f"trusted_proxies = {proxies}") as served:
            client = await served.stranger()
            async with client.session.post(
                f"{served.url}/api/login",
                json={"secret": TOKEN},
                headers={"X-Forwarded-Proto": "https"},
            ) as response:
                assert ("; Secure" in response.headers["Set-Cookie"]) is secure
