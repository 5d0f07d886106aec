"""Chats as the heartbeat sees them, in every store."""

from __future__ import annotations

import msgspec

from nanobot.messages import Address, OutboundKind, Role
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.heartbeat.store import SqlChatHistory
from nanobot.session.inbox import Admission
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.unit import StoreContext
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, asked, begun, let_in, rendered, said, told

HERE = Address("telegram", "1")
THERE = Address("matrix", "!room")


def chats(home: Home, *channels: tuple[str, ...]) -> SqlChatHistory:
    writer = StoreContext(home.clock, home.ids, "heart")
    return SqlChatHistory(home.database, writer, channels or (("telegram", "matrix"), ("cli",)))


def owners(text: str, address: Address, *, group: bool = False) -> Admission:
    message = msgspec.structs.replace(said(text, address=address), group=group)
    return msgspec.structs.replace(let_in(message, str(address)), role=Role.OWNER)


async def test_home_is_where_an_owner_spoke_last_alone_and_on_a_channel_that_is_served(
    home: Home, journal: SqlJournal
) -> None:
    assert await chats(home).home() is None
    await admit(journal, said("a member"))
    assert await chats(home).home() is None
    await admit(journal, owners("one", HERE))
    await admit(journal, owners("two", THERE), channel="matrix")
    assert await chats(home).home() == THERE
    await admit(journal, owners("in a group", Address("telegram", "-5"), group=True))
    assert await chats(home).home() == THERE
    assert await chats(home, ("telegram",)).home() == HERE
    assert await chats(home, ("slack",), ("telegram",)).home() == HERE


async def test_a_chat_is_known_by_who_spoke_there_what_was_said_and_what_goes_on(
    home: Home, journal: SqlJournal
) -> None:
    nobody = await chats(home).around(HERE, 5)
    assert (nobody.person, nobody.spoke_at, nobody.active, nobody.said) == ("", None, None, ())
    claimed = await begun(journal)
    await asked(journal, claimed)
    address = claimed.run.address
    assert await chats(home).busy(KEY)
    at_work = await chats(home).around(address, 5)
    assert at_work.active == home.clock.now()
    assert at_work.person.startswith(f"{address.channel}:")
    await answered(journal, claimed, "an answer", address=address)
    post = msgspec.structs.replace(told("a post\nin lines", "p", address), kind=OutboundKind.POST)
    await journal.post(KEY, post)
    home.clock.advance(60)
    now = await chats(home).around(address, 5)
    assert [line.text for line in now.said] == ["an answer", "a post in lines"]
    assert now.active == home.clock.now() - 60
    assert [line.text for line in (await chats(home).around(address, 1)).said] == [
        "a post in lines"
    ]
    assert not await chats(home).busy(KEY)


async def test_a_chat_that_is_gone_says_why_for_a_day_or_until_somebody_speaks(
    home: Home, journal: SqlJournal
) -> None:
    await journal.post(KEY, told("hello?", "p", HERE))
    row = await journal.next_outbound(HERE)
    assert row is not None
    await journal.begin_send(row, rendered("hello?"), 0, duplicate=False)
    await journal.bury(row, "blocked by the user", scope="chat")
    assert (await chats(home).around(HERE, 5)).gone == "blocked by the user"
    home.clock.advance(86_401)
    assert (await chats(home).around(HERE, 5)).gone == ""


async def test_a_greeting_is_known_by_its_person_alone(home: Home) -> None:
    assert await chats(home).greeted("telegram:1") is None
    plan = Plan(
        name="heartbeat",
        schedule="@yearly",
        zone="UTC",
        anchor=0.0,
        text="",
        address=HERE,
        session_key=str(HERE),
        sender_id="heartbeat",
        role=Role.OWNER,
    )
    job = await home.jobs().system(plan)
    for number, person in enumerate(("telegram:1", "telegram:10", "telegram:_")):
        await home.execute(
            "INSERT INTO occurrences (job_id, scheduled_at, status, call_key, fired_at, body) "
            "VALUES (:job, :at, 'done', :key, :at, :body)",
            job=job.id,
            at=100.0 + number,
            key=f"heartbeat:greeting:{person}:{number}",
            body=b"{}",
        )
    assert await chats(home).greeted("telegram:1") == 100.0
    assert await chats(home).greeted("telegram:_") == 102.0
    assert await chats(home).greeted("telegram:2") is None
