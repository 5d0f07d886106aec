"""Messages whose files are being fetched: they keep their place, and nobody else waits."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.messages import Attachment
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import FETCHING_SECONDS, Busy
from nanobot.session.journal import Journal
from nanobot.session.runs import Claim
from nanobot.session.states import RunKind
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import (
    BEN,
    KEY,
    admit,
    answered,
    begun,
    claim,
    let_in,
    said,
    stop_order,
    with_file,
)

HERE = Attachment("image", ref="photo", name="photo.jpg", blob="ab" * 32, path="received/photo.jpg")


def texts(claimed: Claim) -> list[str]:
    return [e.body.text for e in claimed.entries if isinstance(e.body, UserEntry)]


async def fetching(journal: Journal, ref: str = "photo", session_key: str = KEY) -> int:
    (done,) = await admit(journal, with_file(ref, session_key=session_key))
    return done.inbound_id


async def test_a_message_is_on_disk_before_its_files_are(home: Home, journal: SqlJournal) -> None:
    identity = await fetching(journal)
    await home.reopen()
    (waiting,) = await home.journal().unfetched("telegram")
    assert waiting.inbound_id == identity
    assert waiting.message.attachments[0].ref == "photo"
    assert waiting.at == home.clock.now()
    assert await home.journal().unfetched("discord") == []


async def test_nobody_takes_it_or_what_is_behind_it_before_they_are_here(home: Home) -> None:
    journal = home.journal()
    identity = await fetching(journal)
    await admit(journal, said("what is in it?"))
    assert await journal.claim(KEY, "r1", "UTC") is None
    assert await journal.held(KEY) == 300.0
    assert await journal.fetched(identity, [HERE]) == (KEY, RunKind.CHAT)
    claimed = await claim(journal)
    assert texts(claimed) == ["photo", "what is in it?"]
    (first, _) = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert first.attachments == (HERE,)
    assert await journal.unfetched("telegram") == []


async def test_what_was_said_before_it_does_not_wait_for_it(journal: SqlJournal) -> None:
    await admit(journal, said("look at this"))
    identity = await fetching(journal)
    claimed = await claim(journal)
    assert texts(claimed) == ["look at this"]
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    await journal.fetched(identity, [HERE])
    (steered,) = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert isinstance(steered.body, UserEntry)
    assert steered.body.attachments == (HERE,)


async def test_what_is_behind_it_does_not_steer_past_it(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    identity = await fetching(journal)
    await admit(journal, said("behind"))
    assert await journal.take_pending(claimed.lane, claimed.run, "UTC") == ()
    await journal.fetched(identity, [HERE])
    steered = await journal.take_pending(claimed.lane, claimed.run, "UTC")
    assert [e.body.text for e in steered if isinstance(e.body, UserEntry)] == ["photo", "behind"]


async def test_other_lanes_go_on(journal: SqlJournal) -> None:
    await fetching(journal)
    await admit(journal, said("hello", BEN), session_key="telegram:8")
    assert (await claim(journal, "r1", "telegram:8")).run.session_key == "telegram:8"


async def test_after_five_minutes_it_goes_on_without_them(home: Home, journal: SqlJournal) -> None:
    await fetching(journal)
    home.clock.advance(299.0)
    assert await journal.claim(KEY, "r1", "UTC") is None
    assert await journal.held(KEY) == pytest.approx(1.0)
    home.clock.advance(1.0)
    claimed = await claim(journal)
    assert texts(claimed) == ["photo"]


async def test_who_starts_meanwhile_looks_at_the_lane_when_the_five_minutes_are_over(
    home: Home, journal: SqlJournal
) -> None:
    await fetching(journal)
    home.clock.advance(100.0)
    (lane,) = await journal.ready()
    assert lane.held == pytest.approx(200.0)


async def test_an_album_waits_for_all_of_its_parts(home: Home, journal: SqlJournal) -> None:
    front, back = with_file("one", group="album"), with_file("two", group="album")
    first, second = await journal.admit("telegram", [front, back], None, 50, Busy())
    home.clock.advance(1.0)
    await journal.fetched(first.inbound_id, [msgspec.structs.replace(HERE, ref="one")])
    assert await journal.claim(KEY, "r1", "UTC") is None
    await journal.fetched(second.inbound_id, [msgspec.structs.replace(HERE, ref="two")])
    claimed = await claim(journal)
    assert texts(claimed) == ["one", "two"]
    entries = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert [body.attachments[0].ref for body in entries] == ["one", "two"]
    assert all(body.attachments[0].blob for body in entries)


async def test_a_file_that_will_not_come_lets_the_message_go_on(journal: SqlJournal) -> None:
    identity = await fetching(journal)
    gone = Attachment("image", ref="photo", error="it is gone")
    assert await journal.fetched(identity, [gone]) is not None
    claimed = await claim(journal)
    (entry,) = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert entry.attachments == (gone,)


async def test_with_one_of_two_here_it_waits_for_the_other(journal: SqlJournal) -> None:
    files = (Attachment("image", ref="photo"), Attachment("document", ref="paper"))
    message = msgspec.structs.replace(said("both"), attachments=files)
    awaiting = msgspec.structs.replace(let_in(message), awaiting_files=True)
    (done,) = await admit(journal, awaiting)
    assert await journal.fetched(done.inbound_id, [HERE]) is None
    assert await journal.claim(KEY, "r1", "UTC") is None
    (waiting,) = await journal.unfetched("telegram")
    assert waiting.message.attachments == (HERE, files[1])
    paper = Attachment("document", ref="paper", blob="cd" * 32)
    assert await journal.fetched(done.inbound_id, [paper]) is not None
    assert (await claim(journal)).run.id == "run"


async def test_fetching_twice_changes_nothing(journal: SqlJournal) -> None:
    identity = await fetching(journal)
    await journal.fetched(identity, [HERE])
    assert await journal.fetched(identity, [Attachment("image", ref="photo", error="x")]) is None
    assert await journal.fetched(identity + 1, [HERE]) is None
    claimed = await claim(journal)
    (entry,) = [e.body for e in claimed.entries if isinstance(e.body, UserEntry)]
    assert entry.attachments == (HERE,)


async def test_an_order_to_stop_drops_it_with_its_files(journal: SqlJournal) -> None:
    identity = await fetching(journal)
    await admit(journal, stop_order())
    assert await journal.unfetched("telegram") == []
    assert await journal.fetched(identity, [HERE]) is None
    assert await journal.claim(KEY, "r1", "UTC") is None


async def test_a_run_that_ended_finds_it_when_its_files_are_here(journal: SqlJournal) -> None:
    claimed = await begun(journal)
    identity = await fetching(journal)
    assert await answered(journal, claimed, "done")
    assert await journal.claim(KEY, "r2", "UTC") is None
    assert await journal.fetched(identity, [HERE]) is not None
    assert texts(await claim(journal, "r2"))[-1] == "photo"


JUMPS = [sign * by for by in (1, 299, 301, 3_600, 86_400, 365 * 86_400) for sign in (-1, 1)]


@pytest.mark.parametrize("jump", JUMPS)
async def test_whatever_the_clock_says_it_waits_ten_minutes_at_most(
    home: Home, jump: float
) -> None:
    """Files that nobody fetches, and a clock that is set meanwhile."""
    journal = home.journal()
    await fetching(journal)
    home.clock.set_by(jump)
    near = abs(jump) < FETCHING_SECONDS
    assert (await journal.held(KEY) > 0) is near
    (lane,) = await journal.ready()
    assert lane.held <= 2 * FETCHING_SECONDS
    if near:
        assert await journal.claim(KEY, "r1", "UTC") is None
        home.clock.advance(2 * FETCHING_SECONDS)
    assert texts(await claim(journal)) == ["photo"]
