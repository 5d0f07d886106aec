"""A memory file that cannot be read holds up no other file, and loses nothing that was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nanobot.plugins.memory.files import MAX_BYTES
from nanobot.plugins.memory.index import Memory
from nanobot.session.scopes import OWNER
from nanobot.troubles import TROUBLES
from tests.plugins.memory.remembering import NOBODY, found, memory
from tests.store.home import Home, on_sqlite

pytestmark = on_sqlite


async def test_a_name_that_is_not_utf8_ends_no_scope(mem: Memory, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "good.md").write_text("- The sea is blue.\n")
    (tmp_path / "memory" / os.fsdecode(b"caf\xe9.md")).write_text("- Nobody reads this.\n")
    assert await found(mem, OWNER, "sea") == ["The sea is blue."]
    await mem.save(OWNER, "The moon is far.", NOBODY)
    assert await found(mem, OWNER, "moon") == ["The moon is far."]
    assert any("caf" in each.what for each in TROUBLES.recent())


async def test_a_folder_with_such_a_name_ends_no_list(mem: Memory, tmp_path: Path) -> None:
    (tmp_path / "memory" / "people" / os.fsdecode(b"tele\xe9") / "7").mkdir(parents=True)
    (tmp_path / "MEMORY.md").write_text("- The sea is blue.\n")
    assert [view.text for view in await mem.listed(scopes=None)] == ["The sea is blue."]


async def test_a_file_that_outgrows_its_limit_keeps_its_memories(
    home: Home, tmp_path: Path
) -> None:
    mem, file = memory(home, tmp_path), tmp_path / "memory" / "log.md"
    file.parent.mkdir()
    file.write_text("- The sea is blue.\n")
    assert await found(mem, OWNER, "sea") == ["The sea is blue."]
    file.write_text("- The sea is blue.\n" + "x " * MAX_BYTES)
    assert await found(mem, OWNER, "sea") == ["The sea is blue."]
    assert any("log.md" in each.what for each in TROUBLES.recent())
    assert await found(memory(home, tmp_path), OWNER, "sea") == ["The sea is blue."]
    file.write_text("- The sea is green.\n")
    assert await found(mem, OWNER, "sea") == ["The sea is green."]
    assert not any("log.md" in each.what for each in TROUBLES.recent())


async def test_a_fact_goes_to_the_notes_of_the_day_where_memory_md_is_too_large(
    mem: Memory, tmp_path: Path
) -> None:
    (tmp_path / "MEMORY.md").write_text("x " * MAX_BYTES)
    await mem.save(OWNER, "The moon is far.", NOBODY, kind="fact")
    assert await found(mem, OWNER, "moon") == ["The moon is far."]
    assert await mem.curated(OWNER) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_a_file_that_may_not_be_read_keeps_no_other_one(mem: Memory, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("- The sea is blue.\n")
    assert await found(mem, OWNER, "sea") == ["The sea is blue."]
    (tmp_path / "memory" / "a.md").write_text("- The sea is green.\n")
    (tmp_path / "memory" / "a.md").chmod(0)
    (tmp_path / "memory" / "b.md").write_text("- The moon is far.\n")
    assert await found(mem, OWNER, "moon") == ["The moon is far."]
    assert await found(mem, OWNER, "sea") == ["The sea is blue."]
