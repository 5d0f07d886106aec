"""Logs to export, and their exports as bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence

import sqlalchemy as sa

from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.proof.exporting import Export
from nanobot.plugins.proof.redaction import Redaction
from nanobot.plugins.proof.store.chains import Chains
from nanobot.plugins.proof.store.log_rows import LogPages
from nanobot.plugins.proof.verifying import Proof, Verifier
from nanobot.session.entries import Body, PostEntry, ReplyEntry, ToolResultEntry
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.testing.gateway import MemoryHome, Process

KEY = "telegram:1001"


def said(text: str) -> Body:
    return PostEntry(text=text, key="k")


def replied(text: str) -> Body:
    return ReplyEntry(call=1, text=text)


def found(text: str) -> Body:
    return ToolResultEntry(call=1, index=0, name="read_file", text=text)


class Log:
    """A home with one log."""

    def __init__(self, bodies: Sequence[Body] = (), key: str = KEY) -> None:
        self.key = key
        self.home = MemoryHome()
        self.process = Process(self.home)
        self.pages = LogPages(self.process, self.process.writer)
        self.home.do(lambda c: log.ensure_session(Unit(c, self.process.writer), key, "hello"))
        self.add(bodies)

    def add(self, bodies: Sequence[Body]) -> None:
        def append(connection: sa.Connection) -> None:
            lane = log.lane_of(connection, self.key)
            log.append(Unit(connection, self.process.writer), lane, "run1", bodies)

        self.home.do(append)

    async def erase(self, seq: int) -> None:
        await SqlEraser(self.process, self.process.writer).erase(self.key, seq, "ann")

    def export(self, redact: str = "", matching: str = "", after: int = 0) -> Export:
        return Export(self.pages, self.key, Redaction(redact, matching), after)

    async def exported(self, redact: str = "", matching: str = "", after: int = 0) -> bytes:
        return b"".join([some async for some in self.export(redact, matching, after).lines()])

    async def head(self) -> bytes:
        (view,) = await Chains(self.process, self.process.writer).verified(self.key, "")
        return bytes.fromhex(view.head)


def verified(export: bytes, head: bytes | None = None) -> Proof:
    return Verifier("x.jsonl", head).verified(io.BytesIO(export))
