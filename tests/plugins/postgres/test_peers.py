"""Who else lives, and what is known here of their runs."""

from __future__ import annotations

from nanobot.messages import TERMINAL, Address, EventKind, RunEvent, RunPayload
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.plugins.postgres.processes.over_store import OverStore
from nanobot.plugins.postgres.processes.peers import PeerProcesses
from nanobot.plugins.postgres.processes.presence import GONE_SECONDS, Presence
from nanobot.plugins.postgres.processes.remote_runs import DOUBT_AFTER, FOLLOW_AFTER, RemoteRuns
from nanobot.plugins.postgres.processes.signals import Gone, Here, Watches
from nanobot.plugins.postgres.processes.this_process import ThisProcess
from nanobot.plugins.postgres.store.beats import Beat, Beats
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.testing.machine import ManualClock

NAMES = [f"p{number}" for number in range(5)]


def here(name: str, *serves: str, drives: bool = True) -> Here:
    return Here(name, drives=drives, schedules=False, serves=serves)


def event(kind: EventKind, call: int = 1, **payload: object) -> RunEvent:
    return RunEvent(
        run_id="r1",
        session_key="telegram:1",
        model_call=call,
        seq=1,
        kind=kind,
        at=0.0,
        payload=RunPayload(**payload),  # type: ignore[typeddict-item]
    )


RUNNING = event(EventKind.STATUS, 0, state="running", address=Address("telegram", "1"))


def delta(text: str, call: int = 1) -> RunEvent:
    return event(EventKind.MODEL_DELTA, call, text=text)


def test_of_all_that_drive_lanes_just_one_takes_a_lane_that_nobody_has() -> None:
    clock = ManualClock()
    presences = {name: Presence(name, clock) for name in NAMES}
    for name, presence in presences.items():
        for other in NAMES:
            if other != name:
                presence.take(other, here(other))
    sessions = [f"telegram:{number}" for number in range(200)]
    first = {
        session: [name for name in NAMES if presences[name].first_for(session)]
        for session in sessions
    }
    assert all(len(names) == 1 for names in first.values())
    counts = [list(first.values()).count([name]) for name in NAMES]
    assert min(counts) > 20


def test_who_is_not_heard_of_is_not_counted_on() -> None:
    clock = ManualClock()
    presence = Presence("me", clock)
    assert presence.take("other", here("other", "telegram")) == {"telegram"}
    assert presence.take("other", here("other", "telegram")) == frozenset()
    presence.take("other", Watches("other", ("telegram:1",)))
    assert presence.served() == {"telegram"}
    assert list(presence.watching("telegram:1")) == ["other"]
    assert presence.alive()["other"].delivers(TERMINAL)
    clock.advance(GONE_SECONDS + 1)
    assert presence.served() == set()
    assert list(presence.watching("telegram:1")) == []
    assert not presence.drive()
    presence.take("other", here("other"))
    presence.take("other", Gone("other"))
    assert presence.alive() == {}


def test_who_watches_no_more_is_told_no_more() -> None:
    clock = ManualClock()
    presence = Presence("me", clock)
    presence.take("other", Watches("other", ("telegram:1", "telegram:2")))
    for _ in range(4):
        clock.advance(GONE_SECONDS / 3)
        presence.take("other", here("other"))
        presence.take("other", Watches("other", ("telegram:2",)))
    assert list(presence.watching("telegram:1")) == []
    assert list(presence.watching("telegram:2")) == ["other"]


def test_an_answer_is_put_together_from_its_pieces() -> None:
    runs = RemoteRuns(lambda: ["telegram"])
    assert runs.note(RUNNING, 0.0, anew=False) == RUNNING
    for text in ("one ", "two "):
        runs.note(delta(text), 0.0, anew=False)
    assert runs.text_so_far("r1") == "one two "
    runs.note(delta("again", call=2), 0.0, anew=False)
    assert runs.text_so_far("r1") == "again"
    partial = runs.partial("telegram:1")
    assert partial is not None
    assert (partial.call, partial.text, partial.partial) == (2, "again", True)
    runs.note(event(EventKind.STATUS, state="retrying"), 0.0, anew=False)
    assert runs.text_so_far("r1") == ""
    runs.note(event(EventKind.END, state="completed"), 0.0, anew=False)
    assert runs.text_so_far("r1") is None


def test_what_is_told_from_the_start_is_news_only_as_far_as_it_was_not_known() -> None:
    runs = RemoteRuns(lambda: ["telegram"])
    whole = delta("one two three")
    assert runs.note(RUNNING, 0.0, anew=True) == RUNNING
    assert runs.note(whole, 0.0, anew=True) == whole
    assert runs.note(RUNNING, 0.0, anew=True) is None
    news = runs.note(delta("one two three four"), 0.0, anew=True)
    assert news is not None
    assert news.payload == {"text": " four"}
    assert runs.text_so_far("r1") == "one two three four"


def test_only_runs_that_take_longer_in_chats_served_here_are_followed() -> None:
    here, elsewhere = RemoteRuns(lambda: ["telegram"]), RemoteRuns(lambda: ["slack"])
    for runs in (here, elsewhere):
        runs.note(RUNNING, 0.0, anew=False)
        assert runs.slow(FOLLOW_AFTER / 2) == []
    assert here.slow(FOLLOW_AFTER) == ["telegram:1"]
    assert here.slow(FOLLOW_AFTER) == []
    assert here.followed() == ["telegram:1"]
    assert elsewhere.slow(FOLLOW_AFTER) == []


def test_a_run_of_which_nothing_is_heard_is_doubted_from_time_to_time() -> None:
    runs = RemoteRuns(lambda: ["telegram"])
    runs.note(RUNNING, 0.0, anew=False)
    assert list(runs.doubtful(DOUBT_AFTER - 1)) == []
    assert list(runs.doubtful(DOUBT_AFTER)) == [("r1", "telegram:1")]
    assert list(runs.doubtful(DOUBT_AFTER + 1)) == []
    runs.forget("r1")
    assert list(runs.doubtful(10 * DOUBT_AFTER)) == []


class Alone:
    """Leases that nobody else wants."""

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        return True

    async def leave_channel(self, channel: str) -> None:
        pass

    async def beat(self, line: str = "") -> Beat:
        return Beat(alone=True)

    async def free_dead(self, owner: str) -> bool:
        return False


class Unheard(Notices):
    """A line that nobody listens at."""

    def __init__(self) -> None:
        self.own = "me"
        self.listening_since = None


async def never_ends(_: str) -> bool:
    return False


async def test_after_a_tool_a_run_looks_for_what_others_admitted_meanwhile() -> None:
    """They say it once it is committed and acknowledged, which may be after the tool has ended."""
    bus, clock = MessageBus(), ManualClock()
    this = ThisProcess(
        drives=lambda: True,
        schedules=lambda: False,
        serves=set,
        speaks=set,
        holds=lambda _: True,
        partial=lambda _: None,
        jobs_changed=lambda: None,
    )
    peers = PeerProcesses(OverStore(Unheard(), clock, Beats(Alone(), clock), never_ends), bus, this)
    peers.emitted(event(EventKind.TOOL_RESULT))
    assert not bus.mail_came("telegram:1")
    peers.presence.take("other", here("other", "telegram"))
    peers.emitted(event(EventKind.TOOL_CALL))
    assert not bus.mail_came("telegram:1")
    peers.emitted(event(EventKind.TOOL_RESULT))
    assert bus.mail_came("telegram:1")
