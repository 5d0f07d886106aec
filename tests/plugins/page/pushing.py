"""A push service on loopback, and browsers that can read what is pushed to them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from nanobot.plugins.page.push.message import encoded

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
    """A push service on loopback. `status` and `headers` are what it answers with; `slow` are the
    names of devices for which it never answers; `names` are those that were asked for, in order."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 201
        self.headers: dict[str, str] = {}
        self.slow: set[str] = set()
        self.names: list[str] = []
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
        name = request.match_info["name"]
        self.names.append(name)
        body = await request.read()
        if name in self.slow:
            await asyncio.sleep(3_600)
        self.came.put_nowait((dict(request.headers), body))
        return web.Response(status=self.status, headers=self.headers)

    async def next(self) -> tuple[dict[str, str], bytes]:
        async with asyncio.timeout(PATIENCE):
            return await self.came.get()

    async def quiet(self, seconds: float = 0.5) -> bool:
        await asyncio.sleep(seconds)
        return self.came.empty()
