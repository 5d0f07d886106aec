"""Memory over every kind of store: what is kept, found, edited, accepted and forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import NanobotError
from nanobot.plugins.memory.index import Memory
from nanobot.plugins.memory.items import digest_of
from nanobot.plugins.memory.port import MAX_TEXT, SavedMemory
from nanobot.plugins.memory.records import Draft
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER
from tests.plugins.memory.remembering import BOB, EVE, NOBODY, WordEmbedder, found, memory
from tests.store.home import Home, in_file, in_memory, on_sqlite

TODAY = "2027-01-15"  # where a test's clock begins


async def test_a_fact_is_in_memory_md_and_a_note_in_the_days_file(
    tmp_path: Path, mem: Memory
) -> None:
    origin = Provenance(session_key="cli:direct", run_id="r1", first_seq=3, last_seq=5)
    await mem.save(OWNER, "Anna drinks green tea", origin, kind="fact")
    await mem.save(OWNER, "Today we planted\ntwo apple trees", NOBODY)
    await mem.save(EVE, "Eve collects stamps", NOBODY)
    assert (tmp_path / "MEMORY.md").read_text() == "# Memory\n\n- Anna drinks green tea\n"
    notes = f"# {TODAY}\n\n- Today we planted\n  two apple trees\n"
    assert (tmp_path / f"memory/{TODAY}.md").read_text() == notes
    theirs = tmp_path / f"memory/{EVE}/{TODAY}.md"
    assert theirs.read_text() == f"# {TODAY}\n\n- Eve collects stamps\n"
    (view,) = await mem.search(OWNER, "which tea does Anna like?")
    assert (view.text, view.kind) == ("Anna drinks green tea", "fact")
    assert view.provenance == Provenance(
        session_key="cli:direct", run_id="r1", first_seq=3, last_seq=5, file="MEMORY.md"
    )
    assert await found(mem, OWNER, "apples") == ["Today we planted\ntwo apple trees"]
    assert await mem.curated(OWNER) == "# Memory\n\n- Anna drinks green tea"
    assert await mem.curated(EVE) == ""


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我最喜欢喝绿茶", "绿茶"),
        ("我最喜欢喝绿茶", "茶"),
        ("我住在北京市朝阳区", "你住在北京吗"),
        ("東京タワーに行きました", "東京タワー"),
        ("서울에서 살아요", "서울"),
        ("Das Café heißt Größenwahn", "cafe grössenwahn"),
        ("The dogs were barking", "bark dog"),
        ("Её зовут Ольга", "ольга"),
        ("ห้องสมุดเปิดเก้าโมง", "ห้องสมุด"),
        ("Flat 4B, code 7731#", "7731"),
        ("C++ and OR, AND NOT NEAR", "OR"),
        ("she said 'drop table'", 'drop" OR "x'),
        ("ｆｕｌｌ width", "full"),
    ],
)
async def test_words_of_every_script_are_found(text: str, query: str, mem: Memory) -> None:
    await mem.save(OWNER, text, NOBODY)
    await mem.save(OWNER, "Nothing of the sort 天气很好", NOBODY)
    assert await found(mem, OWNER, query) == [text]


@pytest.mark.parametrize("query", ["", "  ", "?!*", '"', "xyzzy", "a" * 10_000, "* : & | ! ( )"])
async def test_a_question_without_an_answer_finds_nothing(query: str, mem: Memory) -> None:
    await mem.save(OWNER, "Anna drinks green tea", NOBODY)
    assert await found(mem, OWNER, query) == []


async def test_the_same_text_is_kept_once(home: Home, tmp_path: Path, mem: Memory) -> None:
    first = await mem.save(OWNER, "The code is 7731", NOBODY)
    again = await mem.save(OWNER, " The code is 7731\n", NOBODY, kind="fact")
    assert (first.fresh, again.fresh, again.id) == (True, False, first.id)
    assert await found(memory(home, tmp_path), OWNER, "code") == ["The code is 7731"]
    assert not (tmp_path / "MEMORY.md").exists()
    other = await mem.save(EVE, "The code is 7731", NOBODY)
    assert other.fresh
    assert other.id != first.id


async def test_a_line_that_a_crash_left_without_its_row_is_kept_once(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / f"memory/{TODAY}.md"
    file.write_text(f"# {TODAY}\n\n- The code is 7731\n")
    mem = memory(home, tmp_path)
    await mem.save(OWNER, "The code is 7731", NOBODY)
    assert file.read_text().count("7731") == 1
    assert await found(mem, OWNER, "code") == ["The code is 7731"]


async def test_what_a_person_edits_is_seen_at_once(tmp_path: Path, mem: Memory) -> None:
    kept = await mem.save(OWNER, "Anna drinks green tea", NOBODY, kind="fact")
    await mem.save(OWNER, "Bob drinks coffee", NOBODY, kind="fact")
    file = tmp_path / "MEMORY.md"
    file.write_text(file.read_text().replace("Bob drinks coffee", "Bob drinks beer") + "\nNew\n")
    assert await found(mem, OWNER, "who drinks") == ["Bob drinks beer", "Anna drinks green tea"]
    assert await found(mem, OWNER, "coffee") == []
    assert (await mem.show(kept.id)).text == "Anna drinks green tea"
    file.unlink()
    assert await mem.listed(scopes=None) == []


async def test_the_next_process_reads_what_was_edited_meanwhile(home: Home, tmp_path: Path) -> None:
    kept = await memory(home, tmp_path).save(EVE, "Eve likes tea", NOBODY)
    file = tmp_path / f"memory/{EVE}/{TODAY}.md"
    file.rename(file.with_name("tastes.md"))
    (tmp_path / "MEMORY.md").write_bytes("\ufeff# Mine\r\n\r\n* One\r\n".encode())
    mem = memory(home, tmp_path)
    listed = {view.text: view for view in await mem.listed(scopes=None)}
    assert set(listed) == {"Eve likes tea", "One"}
    assert listed["Eve likes tea"].id == kept.id
    assert listed["Eve likes tea"].provenance.file == f"memory/{EVE}/tastes.md"


async def test_forgetting_removes_this_and_nothing_else(tmp_path: Path, mem: Memory) -> None:
    for text in ("Anna drinks tea", "Bob drinks coffee", "Carol drinks wine"):
        await mem.save(OWNER, text, NOBODY, kind="fact")
    await mem.save(EVE, "Bob drinks coffee", NOBODY)
    before = (tmp_path / "MEMORY.md").read_text()
    (bob,) = await mem.search(OWNER, "coffee")
    assert (await mem.forget(bob.id)).text == "Bob drinks coffee"
    assert (tmp_path / "MEMORY.md").read_text() == before.replace("- Bob drinks coffee\n", "")
    assert await found(mem, OWNER, "drinks") == ["Carol drinks wine", "Anna drinks tea"]
    assert await found(mem, EVE, "drinks") == ["Bob drinks coffee"]
    with pytest.raises(NanobotError, match=f"There is no memory {bob.id}"):
        await mem.forget(bob.id)


@in_file
async def test_what_was_forgotten_is_nowhere_in_the_file(home: Home, tmp_path: Path) -> None:
    mem = memory(home, tmp_path, WordEmbedder())
    kept = await mem.save(OWNER, "the passphrase is xylophonist", NOBODY)
    await mem.embed_all()
    await mem.save(OWNER, "something else", NOBODY)
    await mem.forget(kept.id)
    (database,) = await home.column("SELECT file FROM pragma_database_list WHERE name = 'main'")
    stored = b"".join(file.read_bytes() for file in Path(database).parent.glob("state.db*"))
    assert b"something else" in stored
    assert b"xylophonist" not in stored
    assert b"xylophon" not in stored


async def test_a_proposed_memory_waits_for_a_person(tmp_path: Path, mem: Memory) -> None:
    first = await mem.save(OWNER, "Anna is 40", NOBODY, state="proposed", kind="fact")
    second = await mem.save(OWNER, "Anna is 50", NOBODY, state="proposed", kind="fact")
    assert await found(mem, OWNER, "Anna") == []
    assert not (tmp_path / "MEMORY.md").exists()
    accepted = await mem.accept(first.id)
    assert (accepted.state, accepted.provenance.file) == ("active", "MEMORY.md")
    assert (await mem.reject(second.id)).state == "retracted"
    assert await found(mem, OWNER, "Anna") == ["Anna is 40"]
    assert (tmp_path / "MEMORY.md").read_text() == "# Memory\n\n- Anna is 40\n"
    again = await mem.save(OWNER, "Anna is 50", NOBODY, state="proposed", kind="fact")
    assert (again.id, again.state, again.fresh) == (second.id, "retracted", False)
    for identity in (first.id, second.id):
        with pytest.raises(NanobotError, match=f"Memory {identity} is not proposed"):
            await mem.accept(identity)
    assert (await mem.save(OWNER, "Anna is 50", NOBODY)).state == "active"
    assert await found(mem, OWNER, "50") == ["Anna is 50"]


async def test_a_memory_of_somebody_else_cannot_be_named(mem: Memory) -> None:
    kept = await mem.save(OWNER, "The code is 7731", NOBODY, state="proposed")
    for verb in (mem.show, mem.forget, mem.accept, mem.reject):
        with pytest.raises(NanobotError, match="There is no memory"):
            await verb(kept.id, EVE)
    for identity in (0, -1, 2**63, 2**80):
        with pytest.raises(NanobotError, match="There is no memory"):
            await mem.show(identity)
    assert (await mem.show(kept.id)).state == "proposed"


@pytest.mark.parametrize("text", ["", " \n ", "\x00", "x" * (MAX_TEXT + 1)])
async def test_what_cannot_be_remembered_is_refused(
    new_home: Home, tmp_path: Path, text: str
) -> None:
    with pytest.raises(NanobotError, match=r"empty text|at most 4,000 characters"):
        await memory(new_home, tmp_path).save(OWNER, text, NOBODY)


async def test_a_full_memory_md_passes_facts_on_to_the_days_notes(
    new_home: Home, tmp_path: Path
) -> None:
    mem = memory(new_home, tmp_path, max_file_chars=60)
    for number in range(4):
        await mem.save(OWNER, f"This is the fact number {number}", NOBODY, kind="fact")
    assert len((tmp_path / "MEMORY.md").read_text()) <= 60
    assert "number 3" in (tmp_path / f"memory/{TODAY}.md").read_text()
    assert len(await found(mem, OWNER, "fact")) == 4
    (tmp_path / "MEMORY.md").write_text("word " * 100)
    curated = await mem.curated(OWNER)
    assert curated.startswith("word " * 12 + "\n[... MEMORY.md goes on")


async def test_links_and_other_things_are_no_memory(new_home: Home, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    theirs = workspace / "memory" / EVE
    theirs.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("- the safe opens with 7731\n")
    (theirs / "stolen.md").symlink_to("../../../../MEMORY.md")
    (workspace / "memory" / "people" / "telegram" / "7").symlink_to(workspace)
    (theirs / "folder.md").mkdir()
    (theirs / "other.txt").write_text("- a 7731 text")
    (theirs / ".hidden.md").write_text("- a hidden 7731")
    mem = memory(new_home, workspace)
    assert await found(mem, EVE, "7731") == []
    assert await found(mem, BOB, "7731") == []
    assert await mem.curated(BOB) == ""
    assert await found(mem, OWNER, "7731") == ["the safe opens with 7731"]
    with pytest.raises(NanobotError, match="cannot be written"):
        await mem.save(BOB, "x", NOBODY)


async def test_files_that_cannot_be_read_count_as_they_were(new_home: Home, tmp_path: Path) -> None:
    mem = memory(new_home, tmp_path)
    await mem.save(OWNER, "Anna drinks tea", NOBODY)
    (tmp_path / f"memory/{TODAY}.md").write_bytes(b"\xff\xfe- broken bytes stay\n")
    assert await found(mem, OWNER, "broken") == ["- broken bytes stay"]
    await mem.save(OWNER, "One more", NOBODY)
    assert (tmp_path / f"memory/{TODAY}.md").read_bytes().startswith(b"\xff\xfe- broken")


# With other transactions


async def test_what_another_transaction_keeps_is_there_with_it_and_then_in_a_file(
    home: Home, mem: Memory
) -> None:
    saved, write = await mem.keeping(OWNER, "Anna drinks tea", NOBODY, state="active", kind="fact")
    assert write is not None
    assert await mem.listed(scopes=None) == []
    await home.do(write.write)
    write.written()
    (kept,) = await mem.listed(scopes=None)
    assert (kept.id, kept.provenance.file) == (saved.id, "MEMORY.md")
    assert await found(mem, OWNER, "tea") == ["Anna drinks tea"]
    again = await mem.keeping(OWNER, "Anna drinks tea", NOBODY, state="active", kind="fact")
    assert again == (SavedMemory(id=saved.id, state="active", fresh=False), None)


async def test_what_another_transaction_forgets_is_gone_with_it_and_then_from_its_file(
    home: Home, tmp_path: Path, mem: Memory
) -> None:
    kept = await mem.save(OWNER, "Anna drinks tea", NOBODY, kind="fact")
    await mem.save(OWNER, "Bob drinks beer", NOBODY, kind="fact")
    view, write = await mem.forgetting(kept.id, OWNER)
    assert view.text == "Anna drinks tea"
    assert await found(mem, OWNER, "drinks") == ["Bob drinks beer", "Anna drinks tea"]
    await home.do(write.write)
    with pytest.raises(NanobotError, match="There is no memory"):
        await mem.show(kept.id)
    assert await found(memory(home, tmp_path), OWNER, "drinks") == ["Bob drinks beer"]
    assert (tmp_path / "MEMORY.md").read_text() == "# Memory\n\n- Bob drinks beer\n"
    assert await home.column("SELECT text FROM memories") == ["Bob drinks beer"]


async def test_an_id_that_was_told_never_means_another_memory(mem: Memory) -> None:
    saved, _ = await mem.keeping(OWNER, "Anna drinks tea", NOBODY, state="active", kind="fact")
    other = await mem.save(OWNER, "Bob drinks beer", NOBODY)
    assert other.id > saved.id
    with pytest.raises(NanobotError, match=f"There is no memory {saved.id}"):
        await mem.show(saved.id)


async def test_a_file_that_cannot_be_written_now_is_written_later(
    home: Home, tmp_path: Path, mem: Memory
) -> None:
    _, write = await mem.keeping(OWNER, "Anna drinks tea", NOBODY, state="active", kind="fact")
    assert write is not None
    await home.do(write.write)
    write.written()
    (tmp_path / "MEMORY.md").mkdir()
    assert await found(mem, OWNER, "tea") == ["Anna drinks tea"]
    (tmp_path / "MEMORY.md").rmdir()
    assert await found(mem, OWNER, "tea") == ["Anna drinks tea"]
    assert (tmp_path / "MEMORY.md").read_text() == "# Memory\n\n- Anna drinks tea\n"


async def test_a_scope_whose_files_no_folder_can_have_hides_nobody_elses(
    home: Home, tmp_path: Path, mem: Memory
) -> None:
    """Such a row is left by a store that something else has written."""
    stray = Draft(
        scope="telegram:0",
        text="Zoe",
        digest=digest_of("Zoe"),
        terms="zoe",
        state="active",
        kind="note",
        provenance=NOBODY,
    )
    await home.memories().save(stray)
    await mem.save(EVE, "Eve collects stamps", NOBODY)
    (tmp_path / f"memory/{EVE}/{TODAY}.md").write_text("- Eve collects coins.\n")
    rows = await memory(home, tmp_path).listed(scopes=None)
    assert {row.text for row in rows} == {"Zoe", "Eve collects coins."}
    with pytest.raises(NanobotError, match="'telegram:0' has no memory"):
        await mem.listed(scopes=["telegram:0"])


# Vectors


async def test_meaning_finds_what_words_do_not(home: Home, tmp_path: Path) -> None:
    words = WordEmbedder()
    words.synonyms = {"automobile": "car"}
    mem = memory(home, tmp_path, words)
    await mem.save(OWNER, "his car was red", NOBODY)
    await mem.save(EVE, "her car was blue", NOBODY)
    assert await found(mem, OWNER, "automobile") == []
    assert await mem.embed_all()
    assert await found(mem, OWNER, "automobile") == ["his car was red"]
    assert await found(memory(home, tmp_path), OWNER, "automobile") == []


async def test_a_failing_model_loses_no_memory(home: Home, tmp_path: Path) -> None:
    words = WordEmbedder()
    words.down = True
    mem = memory(home, tmp_path, words)
    await mem.save(OWNER, "his car was red", NOBODY)
    assert not await mem.embed_all()
    assert await found(mem, OWNER, "car") == ["his car was red"]
    words.down = False
    assert await mem.embed_all()
    words.down = True
    assert await found(mem, OWNER, "car") == ["his car was red"]


async def test_a_text_no_vector_can_be_made_of_holds_up_no_other(
    new_home: Home, tmp_path: Path
) -> None:
    words = WordEmbedder()
    mem = memory(new_home, tmp_path, words)
    for number in range(40):
        await mem.save(OWNER, f"text {number}", NOBODY)
    words.failing = frozenset({"text 20"})
    assert await mem.embed_all()
    rows = await new_home.column("SELECT text FROM memories WHERE model IS NULL")
    assert rows == ["text 20"]


async def test_another_model_makes_all_vectors_anew(home: Home, tmp_path: Path) -> None:
    await memory(home, tmp_path).save(OWNER, "his car was red", NOBODY)
    for name in ("test/one", "test/two"):
        mem = memory(home, tmp_path, WordEmbedder(name))
        assert await mem.embed_all()
        assert await home.column("SELECT DISTINCT model FROM memories") == [name]
        assert await found(mem, OWNER, "red") == ["his car was red"]


@on_sqlite
async def test_what_is_served_gets_its_vectors(home: Home, tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- written while nobody was here\n")
    words = WordEmbedder()
    mem = memory(home, tmp_path, words)
    async with mem.serving():
        while not await home.column("SELECT 1 FROM memories WHERE model IS NOT NULL"):
            pass
    assert words.asked == ["written while nobody was here"]


@in_memory
async def test_an_empty_workspace_has_no_memory(home: Home, tmp_path: Path) -> None:
    mem = memory(home, tmp_path / "nowhere")
    assert await mem.listed(scopes=None) == []
    with pytest.raises(NanobotError, match="cannot be written"):
        await mem.save(OWNER, "x", NOBODY)


async def test_what_is_kept_with_another_transaction_is_in_a_file_after_it(
    home: Home, tmp_path: Path, mem: Memory
) -> None:
    write = await mem.saving(EVE, "Eve collects stamps", NOBODY, state="active", kind="fact")
    assert write is not None
    await home.database.transact(write.write)
    again = memory(home, tmp_path)  # killed before anything else
    assert await found(again, EVE, "stamps") == ["Eve collects stamps"]
    assert "Eve collects stamps" in (tmp_path / f"memory/{EVE}/MEMORY.md").read_text()
    assert (
        await again.saving(EVE, "Eve collects stamps", NOBODY, state="active", kind="fact") is None
    )
    await home.database.transact(write.write)  # tried again
    assert len(await again.listed(scopes=None)) == 1


async def test_what_another_process_has_in_no_file_yet_survives_a_look(
    home: Home, tmp_path: Path
) -> None:
    mem, other = memory(home, tmp_path), memory(home, tmp_path)
    assert await other.listed(scopes=[EVE]) == []
    write = await mem.saving(EVE, "Eve collects stamps", NOBODY, state="active", kind="fact")
    assert write is not None
    await home.database.transact(write.write)
    (tmp_path / f"memory/{EVE}").mkdir(parents=True)
    (tmp_path / f"memory/{EVE}/notes.md").write_text("- Another.\n")
    assert set(await found(other, EVE, "stamps another")) == {"Eve collects stamps", "Another."}
    write.written()
    await mem.filed(EVE)
    assert "Eve collects stamps" in await mem.curated(EVE)
