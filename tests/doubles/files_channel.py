"""A chat platform in memory whose messages come with files."""

from __future__ import annotations

import asyncio
from collections import deque

from nanobot.messages import Attachment
from nanobot.testing.platform import FakeChannel


class FilesChannel(FakeChannel):
    """See ports.Fetching. `files` holds what is behind each ref: contents and failures in turn, the
    last of them for ever. `held` keeps the fetches of a ref waiting until it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, deque[bytes | Exception]] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.fetched: list[str] = []
        self.limits: set[int] = set()

    def put(self, ref: str, *behind: bytes | Exception) -> None:
        """Set what a ref's fetches return."""
        self.files[ref] = deque(behind)

    async def fetch(self, attachment: Attachment, limit: int) -> bytes:
        """The content, or the failure."""
        ref = attachment.ref
        self.fetched.append(ref)
        self.limits.add(limit)
        self._change()
        if ref in self.held:
            await self.held[ref].wait()
        content = self.files[ref][0] if len(self.files[ref]) == 1 else self.files[ref].popleft()
        if isinstance(content, Exception):
            raise content
        return content
