"""Of several processes that share a bot one speaks to a chat, and who lost it writes nothing."""

from __future__ import annotations

import pytest

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home, in_file, leases_of, on_postgres
from tests.store.making import CHAT, answered, begun
from tests.stored import previewing


async def owed(journal: SqlJournal, text: str = "yes") -> OutboundRow:
    """A message that the chat is owed, as its speaker gets it."""
    await answered(journal, await begun(journal), text)
    taken = await leases_of(journal).take_chat(CHAT, helping=False)
    assert taken.ours
    assert taken.row is not None
    return taken.row


async def run_out(home: Home) -> None:
    """Whoever had a lease was not heard of for too long."""
    await home.database.transact(
        lambda connection: connection.exec_driver_sql("UPDATE channel_leases SET until = 0")
    )


@in_file
async def test_one_process_speaks_to_all_chats_where_the_store_is_its_own(home: Home) -> None:
    row = await owed(home.journal())
    assert row.message.text == "yes"


@on_postgres
async def test_a_chat_is_one_process_s_until_its_lease_runs_out(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    await owed(first)
    assert await second.owed_chats(CHAT.channel) == []
    taken = await leases_of(second).take_chat(CHAT, helping=False)
    assert (taken.ours, taken.row, taken.holder) == (False, None, "first")
    await run_out(home)
    assert await second.owed_chats(CHAT.channel) == [CHAT]
    assert (await leases_of(second).take_chat(CHAT, helping=False)).row is not None
    assert await leases_of(first).renew_chats([CHAT]) == []
    assert await leases_of(second).renew_chats([CHAT]) == [CHAT]


@on_postgres
async def test_each_verb_of_a_message_fails_once_another_process_speaks_to_its_chat(
    home: Home,
) -> None:
    first, second = home.journal("first"), home.journal("second")
    row = await owed(first)
    parts = [row_part(row)]
    await first.begin_send(row, parts, 0, duplicate=False)
    await run_out(home)
    await leases_of(second).take_chat(CHAT, helping=False)
    for late in (
        first.begin_send(row, parts, 0, duplicate=True),
        first.receipt(row, 0, "7", begin=None),
        first.defer(row, 0, 0.0, "later"),
        first.bury(row, "gone", scope="message"),
        previewing(first).preview("r0", row.message, parts[0]),
    ):
        with pytest.raises(Fenced):
            await late
    here = await second.next_outbound(CHAT)
    assert here is not None
    assert [part.state for part in here.parts] == ["sending"]


def row_part(row: OutboundRow) -> OutboundPart:
    """The whole message as one part."""
    return OutboundPart(text=row.message.text, key=row.message.key)


@on_postgres
async def test_each_send_renews_the_lease(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    row = await owed(first)
    await run_out(home)
    await first.begin_send(row, [row_part(row)], 0, duplicate=False)
    assert not (await leases_of(second).take_chat(CHAT, helping=False)).ours


@on_postgres
async def test_who_leaves_a_chat_is_followed_at_once(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    await owed(first)
    await leases_of(first).leave_chats([CHAT])
    assert (await leases_of(second).take_chat(CHAT, helping=False)).ours


@on_postgres
async def test_chats_of_a_channel_that_is_not_shared_are_left_to_who_receives(home: Home) -> None:
    """So does a process of an earlier version, which knows of no other that speaks."""
    first, helper = home.journal("first"), home.journal("helper")
    assert await leases_of(first).hold_channel(CHAT.channel)
    assert not (await leases_of(helper).take_chat(CHAT, helping=True)).ours
    assert await leases_of(first).hold_channel(CHAT.channel, shares=True)
    assert (await leases_of(helper).take_chat(CHAT, helping=True)).ours
    await run_out(home)
    assert await leases_of(home.journal("earlier version")).hold_channel(CHAT.channel)
    other = Address(CHAT.channel, "another chat")
    assert not (await leases_of(helper).take_chat(other, helping=True)).ours


@on_postgres
async def test_the_name_of_a_lease_does_not_say_whose_chat_it_is(home: Home) -> None:
    await owed(home.journal())
    names = await home.database.transact(
        lambda connection: connection.exec_driver_sql(
            "SELECT channel FROM channel_leases"
        ).fetchall()
    )
    assert names
    assert CHAT.chat_id not in str(names)
