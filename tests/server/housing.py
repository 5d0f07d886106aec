"""The page and the API of a whole gateway, asked over HTTP as browsers and programs do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.program import Program
from nanobot.config.loader import load
from nanobot.providers.one_provider import OneProvider
from nanobot.testing.model import ScriptedProvider
from tests.store.empty import with_empty_store

TOKEN = "the token of this gateway, long enough to be one"


class Client:
    """Somebody who asks. `headers` go with every request."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url
        self.headers: dict[str, str] = {}

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """The status, and the JSON that came."""
        headers = {**self.headers, **options.pop("headers", {})}
        async with self.session.request(
            method, self.url + path, headers=headers, **options
        ) as response:
            return response.status, await response.json()

    async def get(self, path: str, /, **query: Any) -> tuple[int, Any]:
        return await self.ask("GET", path, params={k: str(v) for k, v in query.items()})

    async def post(self, path: str, /, **body: Any) -> tuple[int, Any]:
        return await self.ask("POST", path, json=body)

    def cookie(self) -> str:
        """The value of the cookie it was given, by hand: a jar keeps none for an address."""
        return next((each.value for each in self.session.cookie_jar), "")


class House:
    """A gateway that is served, and who may ask it."""

    def __init__(
        self,
        parts: Parts,
        provider: ScriptedProvider,
        home: Path,
        restarts: list[str],
        ready: asyncio.Event,
    ) -> None:
        self.restarts = restarts
        """One for each time that it was to start again, which it does not do here."""
        self.ready = ready
        """Set when it says that it is ready; it is served before that."""
        self.parts = parts
        self.provider = provider
        self.home = home
        self.url = parts.http.url
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> House:
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._stack.aclose()

    async def stranger(self) -> Client:
        """Somebody who shows nothing yet, and keeps cookies."""
        jar = aiohttp.CookieJar(unsafe=True)
        session = aiohttp.ClientSession(cookie_jar=jar, read_bufsize=2**20)
        await self._stack.enter_async_context(session)
        return Client(session, self.url)

    async def owner(self) -> Client:
        """A program with the gateway's own token."""
        client = await self.stranger()
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        return client

    async def program(self, name: str, role: str) -> Client:
        """A program with a named token."""
        token = await self.parts.operations.call("web tokens add", {"name": name, "role": role})
        client = await self.stranger()
        client.headers["Authorization"] = f"Bearer {token.token}"
        return client

    async def browser(self) -> Client:
        """A page that is logged in with a link."""
        client = await self.stranger()
        link = await self.parts.operations.call("web link", {})
        secret = link.url.partition("#login=")[2]
        assert (await client.post("/api/login", secret=secret))[0] == 200
        _, me = await client.get("/api/me")
        client.headers["X-CSRF-Token"] = me["csrf"]
        return client


def _configure(home: Path, web: str) -> None:
    home.mkdir(exist_ok=True)
    with_empty_store(home)
    (home / "config.toml").write_text(f'[web]\nport = 0\ntoken = "{TOKEN}"\n{web}\n')


@asynccontextmanager
async def house(
    home: Path,
    provider: ScriptedProvider | None = None,
    web: str = "",
    *,
    configured_models: bool = False,
) -> AsyncIterator[House]:
    """A gateway over that home which serves the page; `web` are more lines of its table, and
    tables behind it. `configured_models`: those answer, and no script."""
    _configure(home, web)
    environ = {"NANOBOT_HOME": str(home)}
    provider = provider or ScriptedProvider()
    restarts: list[str] = []
    gateway = Gateway(
        load(environ),
        environ,
        channels=False,
        page=True,
        program=None if configured_models else Program(provider=OneProvider(provider)),
        restart=lambda: restarts.append("wanted"),
    )
    ready = asyncio.Event()
    async with (
        gateway.serving("a test", lambda _line: ready.set()) as parts,
        House(parts, provider, home, restarts, ready) as opened,
    ):
        yield opened
