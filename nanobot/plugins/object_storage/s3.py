"""Blobs in an S3-compatible store, for processes without a shared folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from nanobot.errors import BlobMissing, StoreError, StoreUnwritable
from nanobot.plugins.common.optional import require
from nanobot.plugins.common.threads import Places, aside
from nanobot.workspace.blobs import Blobs, digest_of

_SECONDS = 30.0


class ObjectBlobs(Blobs):
    """Like Blobs, under a URL `s3://BUCKET/PREFIX`: `ab/abcdef...`. The endpoint and the
    credentials come from the environment, as for every S3 program. Raises ConfigError if the client
    is not installed.
    """

    def __init__(self, url: str) -> None:
        super().__init__(Path(url.removeprefix("s3://")))
        require("s3", "blobs")
        self._url = url
        self._opened: Any = None
        self._places = Places(16)

    async def write(self, content: bytes) -> str:
        digest = await asyncio.to_thread(digest_of, content)
        try:
            await self._do("pipe_file", self._place(digest), content)
        except (OSError, TimeoutError) as error:
            raise StoreUnwritable(
                f"a file of {len(content):,} bytes cannot be kept in {self._url} ({_why(error)})"
            ) from error
        return digest

    async def read(self, digest: str) -> bytes:
        try:
            content: bytes = await self._do("cat_file", self._place(digest))
        except FileNotFoundError as error:
            raise BlobMissing(f"the file {digest[:12]} is not here any more") from error
        except (OSError, TimeoutError) as error:
            raise StoreError(f"{self._url} cannot be read now ({_why(error)})") from error
        if await asyncio.to_thread(digest_of, content) != digest:
            raise BlobMissing(f"the file {digest[:12]} is damaged in {self._url}")
        return content

    async def remove(self, digests: Iterable[str]) -> int:
        """Delete these blobs; returns how many existed. Raises StoreError."""
        removed = 0
        for digest in digests:
            try:
                # S3 does not report deleting an object that does not exist.
                if await self._do("exists", self._place(digest)):
                    await self._do("rm_file", self._place(digest))
                    removed += 1
            except (OSError, TimeoutError) as error:
                raise StoreError(f"{self._url} cannot be changed now ({_why(error)})") from error
        return removed

    def _place(self, digest: str) -> str:
        return str(self._path(digest))

    async def _do(self, name: str, *arguments: object) -> Any:
        async with asyncio.timeout(_SECONDS):
            call = partial(self._do_now, name, *arguments)
            return await aside(call, "a storage of objects", self._places)

    def _do_now(self, name: str, *arguments: object) -> Any:
        """Runs on a thread, because loading the client takes half a second. The client's other
        errors are raised as OSError.
        """
        errors = import_module("botocore.exceptions")
        if self._opened is None:
            # No cached listings: other processes write too.
            self._opened = import_module("s3fs").S3FileSystem(use_listings_cache=False)
        try:
            return getattr(self._opened, name)(*arguments)
        except (errors.BotoCoreError, errors.ClientError) as error:
            raise OSError(str(error)) from error


def _why(error: Exception) -> str:
    return str(error) or f"no answer within {_SECONDS:g} s"
