"""Web search engines: one port, with an implementation for each service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from html import unescape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.threads import Places, aside
from nanobot.text import pattern

# Loaded with the first request, not with the tools: it costs every command 0.15 s and 10 MB.
if TYPE_CHECKING:
    import aiohttp

SECONDS = 12.0
MAX_ANSWER = 2_000_000
_TAGS = pattern(r"<[^<>]{0,200}>")
_MAX_FIELD = 600

Answer = Mapping[str, Any]


class Hit(msgspec.Struct, frozen=True):
    """One result. Every field is untrusted text, on one line, without markup."""

    title: str
    url: str
    snippet: str


class SearchEngine(Protocol):
    """A service that finds pages."""

    @property
    def name(self) -> str:
        """Its name for people, and the value of tools.web.search that selects it."""

    async def search(self, query: str, count: int) -> list[Hit]:
        """At most `count` hits, best first; empty if there are none.

        Raises ToolError, with the reason but without the key, if the service fails.
        """


class _Service:
    """A JSON API over HTTP. Its address is the owner's choice, so it may be anywhere."""

    def __init__(self, name: str, root: str, proxy: str, seconds: float) -> None:
        self._name = name
        self._root = root.rstrip("/")
        self._proxy = proxy or None
        self._seconds = seconds

    @property
    def name(self) -> str:
        return self._name

    async def ask(self, method: str, path: str, **request: Any) -> Answer:
        """The JSON object in the answer. Raises ToolError."""
        import aiohttp  # noqa: PLC0415 - see above

        try:
            async with (
                asyncio.timeout(self._seconds),
                self._session() as session,
                session.request(
                    method, self._root + path, allow_redirects=False, proxy=self._proxy, **request
                ) as answer,
            ):
                return await self._object(answer)
        except TimeoutError as error:
            raise ToolError(f"{self._name} did not answer within {self._seconds:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolError(f"{self._name} cannot be reached ({type(error).__name__})") from error

    def _session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415 - see above

        return aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )

    async def _object(self, answer: aiohttp.ClientResponse) -> Answer:
        if answer.status in (401, 403):
            raise ToolError(f"{self._name} refuses the key or the request ({answer.status})")
        if answer.status == 429:
            raise ToolError(f"{self._name} has had too many requests (429)")
        if answer.status != 200:
            raise ToolError(f"{self._name} answered with status {answer.status}")
        data = bytearray()
        async for piece in answer.content.iter_chunked(65_536):
            data += piece
            if len(data) > MAX_ANSWER:
                raise ToolError(f"{self._name} answered with more than {MAX_ANSWER:,} bytes")
        try:
            return msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ToolError(f"{self._name} did not answer with its JSON format") from error


class Brave:
    """Brave Search API, with a key."""

    def __init__(self, key: str, root: str, proxy: str = "", seconds: float = SECONDS) -> None:
        self._key = key
        self._service = _Service("brave", root, proxy, seconds)
        self.name = self._service.name

    async def search(self, query: str, count: int) -> list[Hit]:
        """See SearchEngine. Brave returns at most 20."""
        answer = await self._service.ask(
            "GET",
            "/res/v1/web/search",
            params={"q": query, "count": str(min(count, 20))},
            headers={"X-Subscription-Token": self._key, "Accept": "application/json"},
        )
        return _hits(_inside(answer, "web"), "results", ("title", "url", "description"), count)


class Tavily:
    """Tavily's search, with a key."""

    def __init__(self, key: str, root: str, proxy: str = "", seconds: float = SECONDS) -> None:
        self._key = key
        self._service = _Service("tavily", root, proxy, seconds)
        self.name = self._service.name

    async def search(self, query: str, count: int) -> list[Hit]:
        answer = await self._service.ask(
            "POST",
            "/search",
            json={"query": query, "max_results": count},
            headers={"Authorization": f"Bearer {self._key}"},
        )
        return _hits(answer, "results", ("title", "url", "content"), count)


class Searxng:
    """A self-hosted SearXNG; its settings must list `json` among `search.formats`."""

    def __init__(self, root: str, proxy: str = "", seconds: float = SECONDS) -> None:
        self._service = _Service("searxng", root, proxy, seconds)
        self.name = self._service.name

    async def search(self, query: str, count: int) -> list[Hit]:
        answer = await self._service.ask("GET", "/search", params={"q": query, "format": "json"})
        return _hits(answer, "results", ("title", "url", "content"), count)


_PLACES = Places(8)
Scrape = Callable[[str, int, str], list[dict[str, Any]]]


class Ddgs:
    """Public search pages, read with the ddgs library: needs no key, and breaks when the pages
    change.
    """

    name = "ddgs"

    def __init__(
        self, proxy: str = "", scrape: Scrape | None = None, seconds: float = 20.0
    ) -> None:
        self._proxy = proxy
        self._scrape = scrape or _scrape
        self._seconds = seconds

    async def search(self, query: str, count: int) -> list[Hit]:
        """See SearchEngine. A thread that exceeds the time limit is abandoned."""
        scrape = partial(self._scrape, query, count, self._proxy)
        try:
            async with asyncio.timeout(self._seconds):
                rows = await aside(scrape, "searching with ddgs", _PLACES)
        except TimeoutError as error:
            raise ToolError(f"ddgs did not answer within {self._seconds:g} s") from error
        return _hits({"rows": rows}, "rows", ("title", "href", "body"), count)


def _scrape(query: str, count: int, proxy: str) -> list[dict[str, Any]]:
    library: Any = import_module("ddgs")
    failed = import_module("ddgs.exceptions").DDGSException
    try:
        hits: list[dict[str, Any]] = library.DDGS(proxy=proxy or None, timeout=8).text(
            query, max_results=count
        )
    except failed as error:
        if "No results" in str(error):
            return []
        raise ToolError(
            f"ddgs found no search page that answers ({type(error).__name__})"
        ) from error
    return hits


def _inside(answer: Answer, key: str) -> Answer:
    value = answer.get(key)
    return value if isinstance(value, dict) else {}


def _hits(answer: Answer, key: str, fields: tuple[str, str, str], count: int) -> list[Hit]:
    rows = answer.get(key)
    if not isinstance(rows, list):
        return []
    hits = [
        Hit(*(_line(row.get(name)) for name in fields)) for row in rows if isinstance(row, dict)
    ]
    # A truncated address leads nowhere.
    return [
        hit
        for hit in hits
        if hit.url.startswith(("http://", "https://")) and len(hit.url) <= _MAX_FIELD
    ][:count]


def _line(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    text = " ".join(unescape(_TAGS.sub("", value[: _MAX_FIELD * 4])).split())
    return text if len(text) <= _MAX_FIELD else text[:_MAX_FIELD] + "..."
