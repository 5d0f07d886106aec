"""Marks on files, on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanobot import labels
from nanobot.labels import Speaker
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.file_labels.store import SqlTaintMarks
from nanobot.store.database.database import Work
from nanobot.store.unit import StoreContext
from tests.store.home import Home


async def test_marks_are_kept_by_kind_and_name(home: Home) -> None:
    marks = SqlTaintMarks(home.database, StoreContext(home.clock, home.ids, "a", None))
    await marks.remove(await marks.beginning_with("path:"))
    await marks.add(["path:b:c", "path:a", "folder:a", "path:a"])
    await marks.add(["path:a"])
    assert await marks.beginning_with("path:") == ["path:a", "path:b:c"]
    assert await marks.any_of(["content:x", "folder:a"])
    assert not await marks.any_of(["content:a", "folder:b:c"])
    await marks.remove(["path:a", "folder:a", "path:never"])
    assert await marks.beginning_with("path:") == ["path:b:c"]
    assert await marks.beginning_with("folder:") == []


async def test_one_look_tells_the_marks_and_the_labels_of_a_file(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = SqlTaintMarks(home.database, StoreContext(home.clock, home.ids, "a", None))
    files = TaintedFiles(tmp_path, marks)
    await files.mark("marked.md", "")
    await files.mark("guest.md", "", labels.of(Speaker.GUEST))
    await files.label("member.md", labels.of(Speaker.MEMBER))
    assert await files.label_of("other.md") == labels.NOTHING
    looks = 0
    transact = home.database.transact

    async def counted(work: Work[Any], verb: str = "") -> Any:
        nonlocal looks
        looks += 1
        return await transact(work, verb)

    monkeypatch.setattr(home.database, "transact", counted)
    assert (await files.label_of("marked.md")).speakers == {Speaker.OUTSIDE}
    assert (await files.label_of("guest.md")).speakers == {Speaker.GUEST}
    assert (await files.label_of("member.md")).speakers == {Speaker.MEMBER}
    assert looks == 3


@pytest.mark.process
async def test_twenty_thousand_marks_are_added(home: Home) -> None:
    marks = SqlTaintMarks(home.database, StoreContext(home.clock, home.ids, "a", None))
    names = [f"path:many/{number}" for number in range(20_000)]
    await marks.add(names)
    assert set(names) <= set(await marks.beginning_with("path:"))
    await marks.remove(names)
    assert not set(names) & set(await marks.beginning_with("path:"))
