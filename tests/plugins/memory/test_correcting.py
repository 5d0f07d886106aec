"""A memory says something else: where it stands, once, and without a trace of what it said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import NanobotError, UnknownId
from nanobot.plugins.memory.items import corrected, digest_of, items, normal
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER
from tests.plugins.memory.remembering import EVE, NOBODY, found, memory
from tests.store.home import Home

FILE = """\
# Memory

Anna likes tea.

- The bin is emptied on Monday,
  early.
- Anna's birthday is in March
* a star
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Anna likes tea.", "Anna likes coffee."),
        ("The bin is emptied on Monday,\nearly.", "The bin is emptied on Friday."),
        ("Anna's birthday is in March", "Anna's birthday:\n\nthe 4th of May"),
        ("a star", "two stars"),
    ],
)
async def test_its_line_changes_where_it_stands(
    home: Home, tmp_path: Path, old: str, new: str
) -> None:
    (tmp_path / "MEMORY.md").write_text(FILE)
    known = memory(home, tmp_path)
    (view,) = [entry for entry in await known.listed(scopes=[OWNER]) if entry.text == old]
    after = await known.correct(view.id, new)
    assert (after.text, after.state, after.provenance.file) == (new, "active", "MEMORY.md")
    texts = [item.text for item in items((tmp_path / "MEMORY.md").read_text())]
    assert texts == [new if item.text == old else item.text for item in items(FILE)]
    assert old not in [entry.text for entry in await known.listed(scopes=[OWNER])]
    again = memory(home, tmp_path)
    assert {entry.text for entry in await again.listed(scopes=[OWNER])} == set(texts)
    with pytest.raises(UnknownId):
        await known.show(view.id)


async def test_it_is_found_by_its_new_words_and_comes_from_where_it_came(
    home: Home, tmp_path: Path
) -> None:
    known = memory(home, tmp_path)
    origin = Provenance(session_key="telegram:1", run_id="r1", tainted=True)
    saved = await known.save(EVE, "She lives in Lisbon.", origin, kind="fact")
    after = await known.correct(saved.id, "  She lives in Porto.\n", EVE)
    assert await found(known, EVE, "Porto") == ["She lives in Porto."]
    assert await found(known, EVE, "Lisbon") == []
    assert (after.kind, after.provenance.run_id, after.provenance.tainted) == ("fact", "r1", False)


async def test_words_that_are_known_already_stand_there_once(home: Home, tmp_path: Path) -> None:
    known = memory(home, tmp_path)
    first = await known.save(OWNER, "Tea at four.", NOBODY)
    other = await known.save(OWNER, "Tea at five.", NOBODY)
    assert (await known.correct(other.id, "Tea at four.")).id == first.id
    assert [each.text for each in await known.listed(scopes=[OWNER])] == ["Tea at four."]
    assert (await known.correct(first.id, "Tea at four.")).id == first.id


async def test_what_was_proposed_is_remembered_in_the_words_of_the_person(
    home: Home, tmp_path: Path
) -> None:
    known = memory(home, tmp_path)
    saved = await known.save(OWNER, "They hate tea.", NOBODY, state="proposed")
    after = await known.correct(saved.id, "They like tea.")
    assert (after.state, after.text) == ("active", "They like tea.")
    again = await known.save(OWNER, "They hate tea.", NOBODY, state="proposed")
    assert again.state == "retracted"
    with pytest.raises(NanobotError, match="is retracted"):
        await known.correct(saved.id, "They love tea.")


async def test_what_is_no_text_or_somebody_elses_changes_nothing(
    home: Home, tmp_path: Path
) -> None:
    known = memory(home, tmp_path)
    saved = await known.save(EVE, "She lives in Lisbon.", NOBODY)
    for text, scope in ((" \n", EVE), ("x" * 5_000, EVE), ("Porto", OWNER)):
        with pytest.raises(NanobotError):
            await known.correct(saved.id, text, scope)
    with pytest.raises(UnknownId):
        await known.correct(2**63, "Porto")
    assert await found(known, EVE, "Lisbon") == ["She lives in Lisbon."]


async def test_a_file_that_cannot_be_written_keeps_what_is_remembered(
    home: Home, tmp_path: Path
) -> None:
    known = memory(home, tmp_path)
    saved = await known.save(OWNER, "Tea at four.", NOBODY, kind="fact")
    (tmp_path / "MEMORY.md").unlink()
    (tmp_path / "MEMORY.md").mkdir()
    with pytest.raises(NanobotError):
        await known.correct(saved.id, "Tea at five.")
    assert await found(known, OWNER, "five") == []


LINES = st.sampled_from(
    ["# Head", "a", "b c", "", "- one", "  goes on", "* two", "1. three", "---", "\ta tab", "- one"]
)


@given(st.lists(LINES, max_size=12), st.integers(0, 5), st.sampled_from(["new", "x\n\ny", "# x"]))
def test_all_other_memories_of_a_file_stay_as_they_were(
    lines: list[str], which: int, text: str
) -> None:
    content = "\n".join(lines)
    there = items(content)
    if not there or normal(text) in {item.text for item in there}:
        return
    digest = there[which % len(there)].digest
    after = items(corrected(content, digest, text, "2026-01-02"))
    kept = [item.text for item in there if item.digest != digest]
    assert [item.text for item in after if item.digest != digest_of(text)] == kept
    assert digest_of(text) in {item.digest for item in after}
