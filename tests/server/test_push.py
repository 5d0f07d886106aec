"""Notifications: what is pushed to a browser, seen by a push service that can read it."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from nanobot.server.push.message import PushKeys, decoded, encoded, encrypted
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.server.housing import Client, House, house

LOOPBACK = '[tools.web]\nallow_private = ["127.0.0.1"]'
RISKY = asks_for("write_file", path="AGENTS.md", content="a private matter")
ASKING = '[[policy.rules]]\nverdict = "ask"\ntool = "write_file"'
PATIENCE = 10.0


class PushedBrowser:
    """A browser's side of a subscription."""

    def __init__(self, endpoint: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)
        self.endpoint = endpoint

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def subscription(self) -> dict[str, Any]:
        keys = {"p256dh": encoded(self.public), "auth": encoded(self._auth)}
        return {"endpoint": self.endpoint, "keys": keys}

    def read(self, body: bytes) -> Any:
        """What a message says, as RFC 8188 and RFC 8291 have it."""
        salt, record, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= record
        peer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self._key.exchange(ec.ECDH(), peer)
        info = b"WebPush: info\0" + self.public + sender
        key = _hkdf(shared, self._auth, info, 32)
        content_key = _hkdf(key, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(key, salt, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(content_key).decrypt(nonce, sealed, None)
        assert plain.endswith(b"\x02")
        return msgspec.json.decode(plain[:-1])


def _hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


class PushServer:
    """A push service on loopback. `status` is what it answers with."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 201
        self.came: asyncio.Queue[tuple[dict[str, str], bytes]] = asyncio.Queue()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[PushServer]:
        app = web.Application()
        app.router.add_post("/{name}", self._take)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            await runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        self.came.put_nowait((dict(request.headers), await request.read()))
        return web.Response(status=self.status)

    async def next(self) -> tuple[dict[str, str], bytes]:
        async with asyncio.timeout(PATIENCE):
            return await self.came.get()

    async def quiet(self, seconds: float = 0.5) -> bool:
        await asyncio.sleep(seconds)
        return self.came.empty()


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
        assert not (home / "push.json").exists()


async def test_a_subscription_that_its_service_no_longer_knows_is_dropped(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with subscribed(home, "one", "two") as (_, service, _, client):
        service.status = 410
        await _say(client, "first")
        await service.next()
        await _say(client, "second")
        assert await service.quiet(1.0)
        assert not (home / "push.json").exists()


async def test_who_was_told_of_an_approval_is_not_told_again_after_a_restart(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with subscribed(home, RISKY) as (_, service, browser, client):
        await _say(client)
        await service.next()
        assert await service.quiet()
        assert b'"told":1' in (home / "push.json").read_bytes()
        url = service.url
        assert stat.S_IMODE((home / "push.json").stat().st_mode) == 0o600
        assert stat.S_IMODE((home / "push.pem").stat().st_mode) == 0o600
        assert browser.endpoint.startswith(url)
    async with house(home, ScriptedProvider(), web=f"{LOOPBACK}\n{ASKING}") as served:
        assert served.parts.http.push is not None
        (kept,) = served.parts.http.push.subscriptions.all()
        assert kept.told == 1


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


def test_what_encrypts_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, nanobot.server.push.service, nanobot.server.push.routes\n"
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
