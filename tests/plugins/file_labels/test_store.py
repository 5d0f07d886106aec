"""Marks on files, on both databases."""

from __future__ import annotations

import pytest

from nanobot.plugins.file_labels.store import SqlTaintMarks
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


@pytest.mark.process
async def test_twenty_thousand_marks_are_added(home: Home) -> None:
    marks = SqlTaintMarks(home.database, StoreContext(home.clock, home.ids, "a", None))
    names = [f"path:many/{number}" for number in range(20_000)]
    await marks.add(names)
    assert set(names) <= set(await marks.beginning_with("path:"))
    await marks.remove(names)
    assert not set(names) & set(await marks.beginning_with("path:"))
