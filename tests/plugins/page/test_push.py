"""Notifications: what is pushed to a browser, seen by a push service that can read it."""

from __future__ import annotations

import asyncio
import base64
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from nanobot.plugins.common.http.access import Access
from nanobot.plugins.page.push.message import MOST_BYTES, PushKeys, decoded, encoded, encrypted
from nanobot.plugins.page.push.sender import fitting
from nanobot.plugins.page.store import (
    PushSubscription,
    SqlPushSubscriptions,
)
from nanobot.plugins.web_access.named import NamedAccess
from nanobot.plugins.web_access.store import AccessToken, SqlAccessTokens
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.plugins.page.pushing import PushedBrowser, PushServer
from tests.server.housing import Client, House, house

LOOPBACK = '[tools.web]\nallow_private = ["127.0.0.1"]'
RISKY = asks_for("write_file", path="AGENTS.md", content="a private matter")
ASKING = '[[policy.rules]]\nverdict = "ask"\ntool = "write_file"'


@asynccontextmanager
async def subscribed(
    home: Path, *script: Any, web: str = ""
) -> AsyncIterator[tuple[House, PushServer, PushedBrowser, Client]]:
    provider = ScriptedProvider(*script)
    async with (
        PushServer().serving() as service,
        house(home, provider, web=f"{web}\n{LOOPBACK}\n{ASKING}") as served,
    ):
        client = await served.browser()
        browser = PushedBrowser(f"{service.url}/device")
        assert (await client.post("/api/push/subscribe", **browser.subscription))[0] == 200
        yield served, service, browser, client


async def _say(client: Client, text: str = "go") -> None:
    await client.post("/api/sessions/web:desk/messages", text=text, client_request_id=text)


async def test_an_approval_is_pushed_once_and_says_nothing_private(tmp_path: Path) -> None:
    async with subscribed(tmp_path / "home", RISKY, "done") as (_, service, browser, client):
        await _say(client)
        headers, body = await service.next()
        assert browser.read(body) == {"kind": "approval", "id": 1, "session": "web:desk"}
        assert b"private" not in body
        assert (headers["Content-Encoding"], headers["Urgency"]) == ("aes128gcm", "high")
        _, key = await client.get("/api/push")
        claims = _claims(headers["Authorization"], key["key"])
        assert claims["aud"] == service.url
        assert await service.quiet()


def _claims(authorization: str, key: str) -> Any:
    """What the gateway signed, by another library."""
    scheme, _, rest = authorization.partition(" ")
    given = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert (scheme, given["k"]) == ("vapid", key)
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
    return jwt.decode(given["t"], public, algorithms=["ES256"], options={"verify_aud": False})


async def test_what_is_asked_is_in_it_where_that_is_configured(tmp_path: Path) -> None:
    details = "push_details = true"
    async with subscribed(tmp_path / "home", RISKY, web=details) as (_, service, browser, client):
        await _say(client)
        _, body = await service.next()
        assert "a private matter" in browser.read(body)["text"]


async def test_an_answer_that_waits_is_pushed(tmp_path: Path) -> None:
    async with subscribed(tmp_path / "home", "done") as (_, service, browser, client):
        await _say(client)
        _, body = await service.next()
        assert browser.read(body) == {"kind": "answer", "session": "web:desk"}


@pytest.mark.parametrize("way", ["logout", "revoke", "unsubscribe"])
async def test_nothing_is_pushed_once_the_login_is_gone(way: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with subscribed(home, "done") as (served, service, browser, client):
        owner = await served.owner()
        if way == "logout":
            await client.post("/api/logout")
        elif way == "revoke":
            assert (await owner.post("/api/web/tokens/revoke", name="browser"))[0] == 200
        else:
            await client.post("/api/push/unsubscribe", endpoint=browser.endpoint)
        await _say(owner)
        assert await service.quiet(1.0)
        assert await _endpoints(served) == []


async def test_a_subscription_that_its_service_no_longer_knows_is_dropped(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with subscribed(home, "one", "two") as (served, service, _, client):
        service.status = 410
        await _say(client, "first")
        await service.next()
        await _say(client, "second")
        assert await service.quiet(1.0)
        assert await _endpoints(served) == []


def _tokens(served: House) -> SqlAccessTokens:
    return served.parts.plugged.offers.get(NamedAccess).store


async def _kept(served: House) -> list[PushSubscription]:
    tokens = _tokens(served)
    store = SqlPushSubscriptions(tokens.database, tokens.writer)
    return await store.living(time.time())


async def _endpoints(served: House) -> list[str]:
    return [each.endpoint for each in await _kept(served)]


async def test_who_was_told_of_an_approval_is_not_told_again_after_a_restart(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with subscribed(home, RISKY) as (_, service, _, client):
        await _say(client)
        await service.next()
        assert await service.quiet()
    async with house(home, ScriptedProvider(), web=f"{LOOPBACK}\n{ASKING}") as served:
        assert [each.told for each in await _kept(served)] == [1]
    assert list(home.glob("push.*")) == []


async def test_a_member_is_told_of_their_own_conversation_only(tmp_path: Path) -> None:
    async with subscribed(tmp_path / "home", "one", "two") as (served, service, mine, client):
        token = await served.parts.operations.call(
            "web tokens add", {"name": "anna", "role": "member"}
        )
        anna = await served.stranger()
        await anna.post("/api/login", secret=token.token)
        anna.headers["X-CSRF-Token"] = (await anna.get("/api/me"))[1]["csrf"]
        hers = PushedBrowser(f"{service.url}/anna")
        assert (await anna.post("/api/push/subscribe", **hers.subscription))[0] == 200
        await _say(client)
        assert mine.read((await service.next())[1])["session"] == "web:desk"
        key = (await anna.get("/api/me"))[1]["session"]
        await anna.post(f"/api/sessions/{key}/messages", text="hello", client_request_id="1")
        assert hers.read((await service.next())[1])["session"] == key
        assert await service.quiet()


@pytest.mark.parametrize(
    "endpoint",
    ["http://169.254.169.254/latest", "http://push.example.org/x", "file:///etc/passwd", "x"],
)
async def test_no_address_of_the_inside_is_taken(endpoint: str, tmp_path: Path) -> None:
    async with house(tmp_path / "home") as served:
        client = await served.browser()
        browser = PushedBrowser(endpoint)
        status, body = await client.post("/api/push/subscribe", **browser.subscription)
        assert (status, body["error"]["code"]) == (400, "bad_request")
        owner = await served.owner()
        browser.endpoint = "https://push.example.org/x"
        assert (await owner.post("/api/push/subscribe", **browser.subscription))[0] == 403


def test_each_message_is_sealed_anew() -> None:
    browser = PushedBrowser("https://push.example.org")
    keys = msgspec.convert(browser.subscription["keys"], PushKeys)
    one, other = encrypted(b'{"a":1}', keys), encrypted(b'{"a":1}', keys)
    assert one != other
    assert browser.read(one) == browser.read(other) == {"a": 1}


@pytest.mark.process
def test_what_encrypts_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, nanobot.plugins.page.push.service, nanobot.plugins.page.push.routes\n"
        "print([name for name in sys.modules if name.startswith('cryptography')])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stdout.strip() == b"[]"


def test_base64_is_that_of_urls() -> None:
    assert decoded(encoded(bytes(range(256)))) == bytes(range(256))
    assert base64.urlsafe_b64encode(b"\xff\xfe").decode().rstrip("=") == encoded(b"\xff\xfe")
    for wrong in ("a+b", "a b", "\u00e4", "a"):
        with pytest.raises(ValueError, match=r"base64|Incorrect|Invalid"):
            decoded(wrong)


async def test_a_long_text_is_cut_so_that_a_browser_can_still_read_it(tmp_path: Path) -> None:
    risky = asks_for("write_file", path="AGENTS.md", content="\N{PARTY POPPER}\x01" * 2_000)
    details = "push_details = true"
    async with subscribed(tmp_path / "home", risky, web=details) as (_, service, browser, client):
        session = "web:" + "\N{PARTY POPPER}" * 120
        await client.post(f"/api/sessions/{session}/messages", text="go", client_request_id="1")
        _, body = await service.next()
        assert browser.read(body)["session"] == session
        assert len(body) <= 4_096


@pytest.mark.parametrize("size", [1, 400, 3_000, 100_000])
def test_every_payload_fits_and_can_be_read(size: int) -> None:
    for payload in (
        {"kind": "approval", "id": 1, "session": "web:a", "text": "\x01" * size},
        {"kind": "answer", "session": "\N{PARTY POPPER}" * size},
    ):
        plain = fitting(payload)
        assert len(plain) <= MOST_BYTES
        assert msgspec.json.decode(plain)["kind"] == payload["kind"]


async def test_a_push_service_that_never_answers_holds_up_its_own_browser_only(
    tmp_path: Path,
) -> None:
    async with subscribed(tmp_path / "home", "one", "two") as (served, service, _, client):
        service.slow.add("device")
        other = await served.browser()
        theirs = PushedBrowser(f"{service.url}/other")
        assert (await other.post("/api/push/subscribe", **theirs.subscription))[0] == 200
        for text in ("first", "second"):
            await _say(client, text)
            assert theirs.read((await service.next())[1])["kind"] == "answer"
        assert service.names.count("device") == 1


@pytest.mark.process
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_a_push_service_cannot_take_now_is_pushed_again(
    status: int, tmp_path: Path
) -> None:
    async with subscribed(tmp_path / "home", RISKY) as (served, service, browser, client):
        service.status, service.headers = status, {"Retry-After": "1"}
        await _say(client)
        await service.next()
        assert [each.told for each in await _kept(served)] == [0]
        service.status = 201
        assert browser.read((await service.next())[1])["kind"] == "approval"
        assert await service.quiet()
        assert [each.told for each in await _kept(served)] == [1]


@pytest.mark.parametrize("status", [302, 400, 403, 413])
async def test_what_is_refused_is_not_pushed_again(status: int, tmp_path: Path) -> None:
    async with subscribed(tmp_path / "home", RISKY) as (served, service, _, client):
        service.status, service.headers = status, {"Location": "/other"}
        await _say(client)
        await service.next()
        assert await service.quiet()
        assert service.names == ["device"]
        assert [each.told for each in await _kept(served)] == [1]


async def test_each_conversation_has_a_topic_of_its_own(tmp_path: Path) -> None:
    """A push service keeps the last message of a topic for a phone that is off."""
    async with subscribed(tmp_path / "home", "one", "two") as (_, service, _, client):
        topics = []
        for name in ("desk", "shelf"):
            await client.post(
                f"/api/sessions/web:{name}/messages", text="go", client_request_id=name
            )
            topics.append((await service.next())[0]["Topic"])
        assert len(set(topics)) == 2
        assert all(re.fullmatch(r"[\w-]{1,32}", topic) for topic in topics)


async def test_a_member_is_told_of_each_of_their_conversations(tmp_path: Path) -> None:
    async with (
        PushServer().serving() as service,
        house(tmp_path / "home", ScriptedProvider("one"), web=LOOPBACK) as served,
    ):
        token = await served.parts.operations.call(
            "web tokens add", {"name": "anna", "role": "member"}
        )
        anna = await served.stranger()
        await anna.post("/api/login", secret=token.token)
        _, me = await anna.get("/api/me")
        anna.headers["X-CSRF-Token"] = me["csrf"]
        hers = PushedBrowser(f"{service.url}/anna")
        await anna.post("/api/push/subscribe", **hers.subscription)
        key = f"{me['session']}:garden"
        await anna.post(f"/api/sessions/{key}/messages", text="hello", client_request_id="1")
        assert hers.read((await service.next())[1])["session"] == key


def _former(home: Path, endpoint: str, login: AccessToken) -> str:
    """The files of an earlier version, with a browser that is logged in; the key that they have."""
    key = ec.generate_private_key(ec.SECP256R1())
    form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (home / "push.pem").write_bytes(key.private_bytes(Encoding.PEM, *form))
    browser = PushedBrowser(endpoint)
    row = {
        **browser.subscription,
        "login": login.name,
        "since": login.made_at,
        "by": "local",
        "role": "owner",
        "session": "cli:local",
        "told": 3,
    }
    gone = {**row, "endpoint": f"{endpoint}/gone", "since": 1.0}
    (home / "push.json").write_bytes(msgspec.json.encode([row, gone]))
    return encoded(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


async def test_the_files_of_an_earlier_version_are_brought_into_the_store(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with house(home) as served:
        client = await served.browser()
        logins = await _tokens(served).listed()
        headers, cookies = (
            client.headers,
            {served.parts.plugged.offers.get(Access).cookie: client.cookie()},
        )
    public = _former(home, "https://push.example.org/x", logins[0])
    async with house(home) as served:
        async with asyncio.timeout(10):
            while list(home.glob("push.*")):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.01)
        (kept,) = await _kept(served)
        assert (kept.endpoint, kept.told, kept.role) == ("https://push.example.org/x", 3, "owner")
        client = await served.stranger()
        status, key = await client.ask("GET", "/api/push", headers=headers, cookies=cookies)
        assert (status, key) == (200, {"key": public})


@pytest.mark.parametrize("name", ["push.json", "push.pem"])
async def test_files_that_cannot_be_read_stop_no_start_and_stay(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with house(home) as served:
        await served.browser()
        logins = await _tokens(served).listed()
    _former(home, "https://push.example.org/x", logins[0])
    (home / name).write_text("{")
    async with house(home) as served:
        assert await _kept(served) == []
    assert (home / name).exists()
