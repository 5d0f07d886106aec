"""Where files of messages are kept: in a folder, or in a storage that a plugin brings for URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nanobot.boundary import Caught, guarded
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.errors import (
    BlobMissing,
    ConfigError,
    NanobotError,
    PluginBroken,
    StoreError,
    StoreUnwritable,
)
from nanobot.seam.installed import FoundPlugin, installed
from nanobot.seam.plugin import Part, resolved
from nanobot.text import Sentence
from nanobot.workspace.blobs import Blobs, digest_of

STORAGE_SECONDS = 60.0
"""Time limit for each call of the storage of a package."""
_VERBS = ("write", "read", "remove")
T = TypeVar("T")


def blobs_of(config: Config) -> Blobs:
    """The storage of messages' files. Raises ConfigError if it belongs to a plugin that is off, or
    that cannot open it."""
    if isinstance(config.blobs, Path):
        return Blobs(config.blobs)
    url, off = config.blobs, switched(config).off
    scheme, plugins = url.partition(":")[0], installed()
    bringing = plugins.having("blobs", scheme)
    if not bringing:
        raise ConfigError(f"blobs begins with {scheme}: no plugin brings such a storage")
    found, part = min(bringing, key=lambda each: each[0].name in off)
    if found.name in off:
        raise ConfigError(f"blobs needs the plugin {found.name}. {off[found.name]}")
    given = plugins.tried(found.name, "blobs", partial(_given, found, part, url), ConfigError)
    if given is None:
        raise ConfigError(
            f"blobs: the plugin {found.name} cannot open {url}: `nanobot plugins list` says why"
        )
    return given


def _given(found: FoundPlugin, part: Part, url: str) -> Blobs:
    given: Any = resolved(part)(url)
    if not all(callable(getattr(given, verb, None)) for verb in _VERBS):
        kind = type(given).__name__
        raise PluginBroken(f"it gives a {kind}, which has no write, read and remove")
    return ContainedBlobs(found.name, given, url) if found.package else given


class ContainedBlobs(Blobs):
    """The storage of a package. If it fails or hangs, that is an error of the store, after which a
    message is taken again; content that is not the one of its digest is missing."""

    def __init__(self, plugin: str, given: Any, url: str) -> None:
        super().__init__(Path(url))
        self._plugin = plugin
        self._given = given

    async def write(self, content: bytes) -> str:
        digest = await asyncio.to_thread(digest_of, content)
        try:
            kept = await self._asked(partial(self._given.write, content), str)
        except StoreError as error:
            raise StoreUnwritable(str(error)) from error
        if kept != digest:
            raise StoreUnwritable(f"the plugin {self._plugin} keeps a file under another name")
        return digest

    async def read(self, digest: str) -> bytes:
        self._path(digest)  # refuses what is no digest
        content = await self._asked(partial(self._given.read, digest), bytes)
        if await asyncio.to_thread(digest_of, content) != digest:
            raise BlobMissing(f"the file {digest[:12]} is damaged at the plugin {self._plugin}")
        return content

    async def remove(self, digests: Iterable[str]) -> int:
        return await self._asked(partial(self._given.remove, list(digests)), int)

    async def _asked(self, ask: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        async def given() -> T:
            kept = await ask()
            if not isinstance(kept, kind):
                raise TypeError(f"it gives a {type(kept).__name__}, not a {kind.__name__}")
            return kept

        def failed(caught: Caught) -> T:
            why = str(caught.error) or type(caught.error).__name__
            raise StoreError(f"the plugin {self._plugin} cannot keep or read files now ({why})")

        what: Sentence = f"blobs of the plugin {self._plugin}"
        return await guarded(what, given, failed, STORAGE_SECONDS, NanobotError)
