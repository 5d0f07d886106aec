"""The chain over a session's log: whatever is changed behind its back is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.session.entries import ErasedEntry
from nanobot.session.runs import Claim
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    KEY,
    admit,
    answered,
    asked,
    begun,
    call,
    claim,
    following,
    rendered,
    reply,
    said,
    told,
)

ROW = " WHERE session_key = :k AND seq = :n"


async def talked(home: Home) -> SqlJournal:
    """A log of seven entries; they are user, prompt, call, reply, user, reply and post."""
    journal = home.journal()
    first = await begun(journal, "r1")
    await asked(journal, first)
    await answered(journal, first, "the first answer")
    await admit(journal, said("the second question"))
    await answered(journal, await claim(journal, "r2"), "the second answer")
    await journal.post(KEY, told("by the way", "post"))
    return journal


async def head_of(home: Home) -> bytes:
    (head,) = await home.column("SELECT head_hash FROM sessions")
    return bytes(head)


async def broken(home: Home, pattern: str, head: bytes | None = None) -> None:
    """The chain does not hold, and says where."""
    home.damaged = frozenset({KEY})
    with pytest.raises(StoreCorrupt, match=pattern):
        await home.verify(KEY, head)


async def test_an_untouched_log_holds(home: Home) -> None:
    await talked(home)
    assert await home.verify(KEY) == 7
    await home.reopen()
    assert await home.verify(KEY, await head_of(home)) == 7


async def test_a_log_goes_on_from_every_head_it_had(home: Home, journal: SqlJournal) -> None:
    await begun(journal)
    heads = [await head_of(home)]
    await journal.post(KEY, told("a", "a"))
    heads.append(await head_of(home))
    await journal.post(KEY, told("b", "b"))
    for head in heads:
        assert await home.verify(KEY, head) == 3


async def test_a_session_without_entries_holds(home: Home) -> None:
    await admit(home.journal(), said("hello"))
    assert await home.verify(KEY) == 0


async def test_a_changed_payload_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("UPDATE entries SET payload = :p" + ROW, p=b"{}", k=KEY, n=4)
    await broken(home, "entry 4 .* changed")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("run_id", "another"),
        ("kind", "post"),
        ("at", 1.0),
        ("digest", b"\0" * 32),
        ("hash", b"\0" * 32),
        ("salt", b"\0" * 16),
        ("salt", None),
    ],
)
async def test_a_changed_header_is_found(home: Home, column: str, value: object) -> None:
    await talked(home)
    await home.execute(f"UPDATE entries SET {column} = :v" + ROW, v=value, k=KEY, n=4)
    await broken(home, "entry 4")


async def test_an_entry_taken_out_of_the_middle_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("DELETE FROM entries" + ROW, k=KEY, n=4)
    await broken(home, "broken at entry 5")


async def test_an_entry_taken_out_and_the_gap_closed_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("DELETE FROM entries" + ROW, k=KEY, n=4)
    for seq in (5, 6, 7):
        await home.execute("UPDATE entries SET seq = seq - 1" + ROW, k=KEY, n=seq)
    await broken(home, "broken at entry 4")


async def test_two_entries_that_changed_places_are_found(home: Home) -> None:
    await talked(home)
    for before, after in ((4, 99), (6, 4), (99, 6)):
        await home.execute("UPDATE entries SET seq = :m" + ROW, k=KEY, n=before, m=after)
    await broken(home, "broken at entry 4")


async def test_an_entry_put_in_is_found(home: Home) -> None:
    await talked(home)
    await home.execute(
        "INSERT INTO entries SELECT session_key, 8, run_id, kind, at, salt, payload, digest, hash "
        "FROM entries" + ROW,
        k=KEY,
        n=7,
    )
    await broken(home, "broken at entry 8")


async def test_a_cut_tail_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("DELETE FROM entries" + ROW, k=KEY, n=7)
    await broken(home, "cut")


async def test_a_log_cut_to_nothing_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("DELETE FROM entries")
    await broken(home, "cut")


async def test_a_cut_tail_with_its_traces_removed_is_found_with_a_head_noted_before(
    home: Home,
) -> None:
    await talked(home)
    head = await head_of(home)
    await home.execute("DELETE FROM entries" + ROW, k=KEY, n=7)
    await home.execute(
        "UPDATE sessions SET head_seq = 6, head_hash = (SELECT hash FROM entries WHERE seq = 6)"
    )
    assert await home.verify(KEY) == 6
    await broken(home, "does not contain", head)


async def test_entries_whose_session_was_removed_are_found(home: Home) -> None:
    await talked(home)
    await home.execute("DELETE FROM sessions")
    await broken(home, "cut")


async def test_a_payload_emptied_without_saying_so_is_found(home: Home) -> None:
    await talked(home)
    await home.execute("UPDATE entries SET payload = NULL, salt = NULL" + ROW, k=KEY, n=4)
    await broken(home, "entry 4 .* emptied")


async def test_an_entry_that_cannot_be_read_is_an_error_that_says_so(home: Home) -> None:
    await talked(home)
    await home.execute("UPDATE entries SET payload = :p" + ROW, p=b"{]", k=KEY, n=4)
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        await home.bodies(KEY)
    home.damaged = frozenset({KEY})


# Erasing


async def test_an_erased_payload_is_gone_and_the_chain_holds(home: Home) -> None:
    await talked(home)
    head = await head_of(home)
    await home.eraser().erase(KEY, 4, "1001")
    entries = await home.entries(KEY)
    assert entries[3].body is None
    assert entries[-1].body == ErasedEntry(seq=4, by="1001")
    assert await home.verify(KEY, head) == 8
    assert await home.rows("SELECT salt, payload FROM entries" + ROW, k=KEY, n=4) == [(None, None)]


async def test_after_an_erasure_the_session_goes_on(home: Home) -> None:
    journal = await talked(home)
    claimed = await begun(journal, "r3")
    await home.eraser().erase(KEY, 1, "1001")
    await asked(journal, claimed)
    await answered(journal, claimed, "done")
    resumed = await begun(journal, "r4")
    assert resumed.entries[0].body is None


async def test_erasing_again_changes_nothing(home: Home) -> None:
    await talked(home)
    await home.eraser().erase(KEY, 4, "1001")
    before = await home.everything()
    await home.eraser().erase(KEY, 4, "1001")
    assert await home.everything() == before


@pytest.mark.parametrize("seq", [0, 8, 99])
async def test_only_entries_that_say_something_can_be_erased(home: Home, seq: int) -> None:
    await talked(home)
    await home.eraser().erase(KEY, 4, "1001")  # entry 8 tells of it
    before = await home.everything()
    with pytest.raises(UsageError, match=f"no entry {seq}"):
        await home.eraser().erase(KEY, seq, "1001")
    assert await home.everything() == before


async def test_in_a_session_that_does_not_exist_nothing_can_be_erased(home: Home) -> None:
    with pytest.raises(UsageError):
        await home.eraser().erase("nobody", 1, "1001")


async def test_an_erased_message_is_still_known(home: Home) -> None:
    journal = await talked(home)
    await home.eraser().erase(KEY, 5, "1001")
    (again,) = await admit(journal, said("the second question"))
    assert not again.fresh


async def test_an_erased_answer_that_was_not_sent_yet_is_not_sent(home: Home) -> None:
    journal = await talked(home)
    await home.eraser().erase(KEY, 4, "1001")
    row = await following(journal)
    assert row.message.text == "the second answer"


async def test_what_else_a_run_said_stays(home: Home, journal: SqlJournal, claimed: Claim) -> None:
    await asked(journal, claimed)
    await journal.record_reply(claimed.lane, claimed.run, reply("let me see"))
    await journal.start_model(claimed.lane, claimed.run, [call(2)], None)
    await answered(journal, claimed, "here it is")
    await home.eraser().erase(KEY, 4, "1001")
    row = await following(journal)
    assert row.message.text == "here it is"


async def test_of_what_was_erased_not_a_byte_is_left_in_the_files(new_home: Home) -> None:
    journal = new_home.journal()
    for number in range(60):  # enough that pages were split and their content was moved
        await admit(journal, said(f"asked-{number:03} {'q' * (number * 40)}", key=f"{number}"))
        claimed = await claim(journal, f"r{number}")
        await answered(journal, claimed, f"given-{number:03} {'a' * (number * 40)}")
        row = await following(journal)
        await journal.begin_send(row, rendered(row.message.text), 0, duplicate=False)
        await journal.receipt(row, 0, "m", begin=None)
    await journal.post(KEY, told("posted-001", "post"))
    texts = ["asked-000", "asked-033", "asked-059", "given-007", "given-051", "posted-001"]
    for seq in (1, 67, 119, 16, 104, 121):
        await new_home.eraser().erase(KEY, seq, "1001")
    (file,) = await new_home.column("SELECT file FROM pragma_database_list WHERE name = 'main'")
    stored = b"".join(path.read_bytes() for path in Path(file).parent.iterdir())
    said_once = [f"{kind}-{number:03}" for kind in ("asked", "given") for number in range(60)]
    gone = {text for text in [*said_once, "posted-001"] if text.encode() not in stored}
    assert gone == set(texts)
    assert await new_home.verify(KEY) == 121 + 6
