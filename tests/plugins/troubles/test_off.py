"""Without it no owner is told unasked what keeps failing; who asks is told, and so is the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from loguru import logger

from nanobot.app.gateway_parts import Parts
from nanobot.boundary import boundary
from nanobot.messages import Role
from nanobot.plugins.troubles import reports
from tests.plugins.switching import asked, serving
from tests.store.making import admit, let_in, said
from tests.stored import outbox_of

OFF = '[plugins]\noff = ["troubles"]\n'
WORK = "copying the moon"


async def fail_before_an_owner(parts: Parts) -> None:
    """An owner has spoken, and something fails twice."""
    owner = msgspec.structs.replace(let_in(said("hello")), role=Role.OWNER)
    await admit(parts.engine.journal, owner)
    for _ in range(2):
        with boundary(WORK):
            raise OSError("the disk is gone")


async def told(parts: Parts) -> list[str]:
    rows = await outbox_of(parts.engine.records).listed(state="", limit=50)
    return [row.text for row in rows if "keeps failing" in row.text]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "LOOK_SECONDS", 0.02)


async def test_while_it_is_on_owners_are_told_in_their_chats(tmp_path: Path) -> None:
    async with serving(tmp_path / "home") as parts, asyncio.timeout(20):
        await fail_before_an_owner(parts)
        texts: list[str] = []
        while not texts:
            await asyncio.sleep(0.02)
            texts = await told(parts)
        assert [f"- {WORK} failed 2 times: the disk is gone" in text for text in texts] == [True]


async def test_status_and_log_name_what_fails_all_the_same(
    tmp_path: Path,
) -> None:
    lines: list[str] = []
    async with serving(tmp_path / "home", OFF) as parts:
        sink = logger.add(lines.append)
        await fail_before_an_owner(parts)
        assert await asked(parts, "hello") == "completed"
        await asyncio.sleep(0.2)
        assert await told(parts) == []
        status = await parts.operations.call("status", {})
        assert f"{WORK} failed 2 times: the disk is gone" in status.troubles
        shown = parts.operations.named("status").text(status, parts.engine.shown_at())
        assert "the disk is gone" in shown
        logger.remove(sink)
    assert WORK in "".join(lines)
