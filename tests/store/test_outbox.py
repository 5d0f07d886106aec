"""What is owed: sent in order, part by part, each send recorded around it; failures kept."""

from __future__ import annotations

import pytest

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.plugins.common.store import outbox
from nanobot.session.entries import PostEntry, UndeliveredEntry
from nanobot.session.outbox import OutboundRow
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext, Unit
from tests.store.home import Home
from tests.store.making import CHAT, KEY, admit, answered, begun, following, rendered, said, told

OTHER = Address("telegram", "8")


def writer(home: Home) -> StoreContext:
    return StoreContext(home.clock, home.ids, "us")


async def owed(home: Home, *texts: str, address: Address = CHAT) -> SqlJournal:
    """Texts owed to a chat, each posted."""
    journal = home.journal()
    for text in texts:
        await journal.post(str(address), told(text, f"key-{text}", address))
    return journal


async def sent(journal: SqlJournal, row: OutboundRow) -> OutboundRow | None:
    """Send a message in one part."""
    await journal.begin_send(row, rendered("x"), 0, duplicate=False)
    return await journal.receipt(row, 0, "m", begin=None)


async def states(home: Home) -> list[str]:
    return await home.column("SELECT state FROM outbound ORDER BY id")


async def test_a_chat_is_sent_its_messages_in_the_order_they_were_owed(home: Home) -> None:
    journal = await owed(home, "a", "b")
    claimed = await begun(journal)
    await answered(journal, claimed, "c", "d")
    texts = []
    row = await journal.next_outbound(CHAT)
    while row is not None:
        texts.append(row.message.text)
        row = await sent(journal, row)
    assert texts == ["a", "b", "c", "d"]
    assert await states(home) == ["sent"] * 4


async def test_chats_do_not_wait_for_each_other(home: Home) -> None:
    journal = await owed(home, "a")
    await owed(home, "b", address=OTHER)
    assert (await following(journal, OTHER)).message.text == "b"
    await sent(journal, await following(journal, OTHER))
    assert (await following(journal)).message.text == "a"


async def test_the_chats_that_are_owed_something_come_oldest_first(home: Home) -> None:
    journal = await owed(home, "b", address=OTHER)
    await owed(home, "a")
    await owed(home, "c", address=OTHER)
    await owed(home, "d", address=Address("slack", "8"))
    assert await journal.owed_chats("telegram") == [OTHER, CHAT]
    await sent(journal, await following(journal, OTHER))
    assert await journal.owed_chats("telegram") == [CHAT, OTHER]
    await sent(journal, await following(journal))
    assert await journal.owed_chats("telegram") == [OTHER]


async def test_threads_of_a_chat_share_its_order(home: Home) -> None:
    threads = [Address("telegram", "7", "1"), Address("telegram", "7", "2")]
    for address in threads:
        await owed(home, str(address), address=address)
    row = await following(home.journal())
    assert row.message.address == threads[0]


async def test_an_unrendered_message_has_no_parts(home: Home) -> None:
    row = await following(await owed(home, "a"))
    assert (row.state, row.attempts, row.parts, row.maybe_duplicate) == ("pending", 0, (), False)
    assert (row.session_key, row.created_at) == (KEY, home.clock.now())


async def test_the_parts_are_kept_before_the_first_is_sent(home: Home) -> None:
    journal = await owed(home, "a")
    parts = rendered("one", "two", "three")
    await journal.begin_send(await following(journal), parts, 0, duplicate=False)
    await home.reopen()
    row = await following(home.journal())
    assert (row.state, row.attempts) == ("sending", 1)
    assert [part.part for part in row.parts] == parts
    assert [part.state for part in row.parts] == ["sending", "pending", "pending"]


async def test_a_part_with_zero_bytes_can_be_sent(home: Home) -> None:
    journal = await owed(home, "a\0b")
    await journal.begin_send(await following(journal), rendered("a\0b"), 0, duplicate=False)
    assert (await following(journal)).parts[0].part.text.startswith("a")


async def test_each_receipt_is_kept_and_begins_the_next_part(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await journal.begin_send(row, rendered("one", "two"), 0, duplicate=False)
    assert await journal.receipt(row, 0, "m1", begin=1) is None
    parts = (await following(journal)).parts
    assert [(part.state, part.receipt) for part in parts] == [("sent", "m1"), ("sending", None)]


async def test_after_the_last_part_comes_the_next_message(home: Home) -> None:
    journal = await owed(home, "a", "b")
    row = await following(journal)
    await journal.begin_send(row, rendered("one", "two"), 0, duplicate=False)
    await journal.receipt(row, 0, "m1", begin=1)
    after = await journal.receipt(row, 1, "m2", begin=None)
    assert after is not None
    assert after.message.text == "b"
    assert await home.rows("SELECT state, settled_at FROM outbound ORDER BY id") == [
        ("sent", home.clock.now()),
        ("pending", None),
    ]


async def test_after_the_last_message_comes_none(home: Home) -> None:
    journal = await owed(home, "a")
    assert await sent(journal, await following(journal)) is None


@pytest.mark.parametrize("state", ["sent", "dead", "dropped"])
async def test_a_message_that_is_no_longer_unsent_is_not_sent(home: Home, state: str) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await home.execute("UPDATE outbound SET state = :s", s=state)
    before = await home.everything()
    with pytest.raises(Fenced):
        await journal.begin_send(row, rendered("one"), 0, duplicate=False)
    assert await home.everything() == before


async def test_a_repeat_is_remembered_for_good(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await journal.begin_send(row, rendered("one"), 0, duplicate=False)
    assert not (await following(journal)).maybe_duplicate
    await journal.begin_send(row, (), 0, duplicate=True)
    await journal.begin_send(row, (), 0, duplicate=False)
    row = await following(journal)
    assert (row.maybe_duplicate, row.attempts) == (True, 3)


async def test_a_message_put_off_waits_with_its_parts_and_its_error(home: Home) -> None:
    journal = await owed(home, "a", "b")
    row = await following(journal)
    await journal.begin_send(row, rendered("one", "two"), 0, duplicate=False)
    await journal.receipt(row, 0, "m1", begin=1)
    later = home.clock.now() + 60
    await journal.defer(row, 1, later, "502")
    await home.reopen()
    row = await following(home.journal())
    assert (row.message.text, row.state, row.not_before, row.error) == (
        "a",
        "pending",
        later,
        "502",
    )
    assert [part.state for part in row.parts] == ["sent", "pending"]


async def test_a_message_buried_is_dead_and_the_next_takes_its_turn(home: Home) -> None:
    journal = await owed(home, "a", "b")
    assert await journal.bury(await following(journal), "refused", scope="message") == 1
    assert (await following(journal)).message.text == "b"
    assert await home.rows("SELECT state, error FROM outbound ORDER BY id") == [
        ("dead", "refused"),
        ("pending", None),
    ]


async def test_the_session_is_told_of_what_did_not_arrive(home: Home) -> None:
    journal = await owed(home, "a")
    await journal.bury(await following(journal), "refused", scope="message")
    note = (await home.bodies(KEY))[-1]
    assert isinstance(note, UndeliveredEntry)
    assert "refused" in note.text
    assert note.text.endswith("a")


async def test_a_chat_that_is_gone_takes_all_it_is_owed_with_it(home: Home) -> None:
    journal = await owed(home, "a", "b")
    await owed(home, "c", address=OTHER)
    await sent(journal, await following(journal))
    await owed(home, "d", "e")
    row = await following(journal)
    await journal.begin_send(row, rendered("x"), 0, duplicate=False)
    assert await journal.bury(row, "blocked", scope="chat") == 3
    assert await states(home) == ["sent", "dead", "pending", "dead", "dead"]
    assert await journal.next_outbound(CHAT) is None
    assert await journal.owed_chats("telegram") == [OTHER]


async def test_what_is_dead_is_not_buried_again(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await journal.bury(row, "refused", scope="message")
    before = await home.everything()
    assert await journal.bury(row, "refused", scope="message") == 0
    assert await home.everything() == before


async def test_a_burial_during_a_run_disturbs_neither(home: Home) -> None:
    journal = await owed(home, "a")
    claimed = await begun(journal)
    await journal.bury(await following(journal), "refused", scope="message")
    await answered(journal, claimed, "b")
    assert (await following(journal)).message.text == "b"


async def test_what_a_session_that_is_gone_owes_can_be_buried(home: Home) -> None:
    journal = await owed(home, "a")
    await home.execute("DELETE FROM entries")
    await home.execute("DELETE FROM sessions")
    assert await journal.bury(await following(journal), "refused", scope="message") == 1


async def test_a_dead_message_can_be_retried_with_its_whole_time_before_it(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await journal.begin_send(row, rendered("one", "two"), 0, duplicate=False)
    await journal.receipt(row, 0, "m1", begin=1)
    await journal.bury(row, "too old", scope="message")
    home.clock.advance(90_000)
    assert await home.do(lambda c: outbox.retry(Unit(c, writer(home)), row.id))
    row = await following(journal)
    assert (row.state, row.not_before, row.created_at) == ("pending", 0, home.clock.now())
    assert [part.state for part in row.parts] == ["sent", "pending"]


async def test_only_what_is_dead_is_retried(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    assert not await home.do(lambda c: outbox.retry(Unit(c, writer(home)), row.id))
    await sent(journal, row)
    assert not await home.do(lambda c: outbox.retry(Unit(c, writer(home)), row.id))
    assert await states(home) == ["sent"]


async def test_a_message_given_up_is_not_sent(home: Home) -> None:
    journal = await owed(home, "a", "b", "c")
    row = await following(journal)
    assert await home.do(lambda c: outbox.drop(Unit(c, writer(home)), row.id))
    row = await following(journal)
    await journal.bury(row, "refused", scope="message")
    assert await home.do(lambda c: outbox.drop(Unit(c, writer(home)), row.id))
    assert await states(home) == ["dropped", "dropped", "pending"]


async def test_what_is_being_sent_or_was_sent_is_not_given_up(home: Home) -> None:
    journal = await owed(home, "a")
    row = await following(journal)
    await journal.begin_send(row, rendered("x"), 0, duplicate=False)
    assert not await home.do(lambda c: outbox.drop(Unit(c, writer(home)), row.id))
    await journal.receipt(row, 0, "m", begin=None)
    assert not await home.do(lambda c: outbox.drop(Unit(c, writer(home)), row.id))


async def test_messages_are_listed_by_state_the_newest_first(home: Home) -> None:
    journal = await owed(home, "a", "b", "c")
    await sent(journal, await following(journal))
    listed = await home.do(lambda c: outbox.listing(c, "pending", 10))
    assert [row.message.text for row in listed] == ["c", "b"]
    listed = await home.do(lambda c: outbox.listing(c, None, 2))
    assert [row.message.text for row in listed] == ["c", "b"]
    (row,) = await home.do(lambda c: outbox.listing(c, "sent", 10))
    assert [part.receipt for part in row.parts] == ["m"]


async def test_something_said_unasked_is_in_the_log_and_owed(home: Home) -> None:
    await owed(home, "Good morning.")
    assert await home.bodies(KEY) == [PostEntry(text="Good morning.", key="key-Good morning.")]
    row = await following(home.journal())
    assert (row.message.text, row.run_id) == ("Good morning.", "")


async def test_something_said_unasked_is_said_once(home: Home) -> None:
    await owed(home, "Good morning.")
    await owed(home, "Good morning.")
    assert len(await home.bodies(KEY)) == 1
    assert await states(home) == ["pending"]


async def test_something_said_unasked_is_seen_by_the_next_run(home: Home) -> None:
    journal = await owed(home, "Shall I?")
    await admit(journal, said("yes, do that"))
    claimed = await journal.claim(KEY, "run", "UTC")
    assert claimed is not None
    assert isinstance(claimed.entries[0].body, PostEntry)
