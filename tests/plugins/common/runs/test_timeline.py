"""When a run did what: from logs of every kind, and what people read of it."""

from __future__ import annotations

import msgspec
import pytest

from nanobot.messages import Address, Role
from nanobot.plugins.common.runs.timeline import Piece, RunPage, Timeline, Times, timeline_of
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.outbox import Delivery
from nanobot.plugins.common.views.remarks import as_entry
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.runs.waterfall import waterfall_lines
from nanobot.providers.base import ModelProfile, Price, Usage
from nanobot.session.entries import (
    CUT_OFF,
    ApprovalEntry,
    Body,
    DecisionEntry,
    Entry,
    FallbackEntry,
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from nanobot.session.states import RunKind, RunState

PROFILE = ModelProfile(
    provider="test", name="m", context_tokens=1000, price=Price(prompt=0.001, completion=0.002)
)


def _called(number: int) -> ModelCallEntry:
    return ModelCallEntry(
        call=number,
        prompt="",
        window_from=1,
        profile=PROFILE,
        estimate=1,
        temperature=0.0,
        max_tokens=9,
    )


def _asked(sent_at: float = 98.0) -> UserEntry:
    return UserEntry(
        text="go",
        address=Address("telegram", "1"),
        sender_id="1",
        role=Role.OWNER,
        sent_at=sent_at,
        inbound_id=1,
    )


def _timeline(
    *log: tuple[float, Body | None],
    ended_at: float | None = None,
    sent: tuple[Delivery, ...] = (),
    now: float = 200.0,
) -> Timeline:
    entries = [Entry(seq, "r", at, body) for seq, (at, body) in enumerate(log, 1)]
    times = Times(run_id="r", created_at=100.0, ended_at=ended_at)
    return timeline_of(times, entries, sent, now)


def _of(timeline: Timeline, kind: str) -> list[Piece]:
    return [piece for piece in timeline.pieces if piece.kind == kind]


def test_a_slow_run_says_that_it_waited_for_an_approval() -> None:
    line = _timeline(
        (100.0, _asked()),
        (100.0, _called(1)),
        (104.0, ReplyEntry(call=1, text="", ms=4000)),
        (104.0, ApprovalEntry(id=12, call=1, index=0, digest="")),
        (135.0, DecisionEntry(id=12, verdict="approved", by="1")),
        (135.0, ToolStartedEntry(call=1, index=0, name="exec")),
        (139.0, ToolResultEntry(call=1, index=0, name="exec", text="", ms=4000)),
        ended_at=140.0,
    )

    assert line.where == "31 s of 42 s: waiting for your approval #12"
    assert [piece.kind for piece in line.pieces] == ["queue", "model", "person", "tool", "idle"]


def test_a_model_call_has_its_first_word_its_tokens_and_its_cost() -> None:
    reply = ReplyEntry(call=1, text="hi", ms=3000, first_ms=400, usage=Usage(100, 10))
    (call,) = _of(_timeline((100.0, _called(1)), (103.5, reply), ended_at=103.5), "model")

    assert call.end - call.start == pytest.approx(3.0)
    assert (call.first_ms, call.tokens_in, call.tokens_out) == (400, 100, 10)
    assert call.cost == pytest.approx(0.12)


def test_a_call_that_a_crash_cut_off_lasts_until_the_run_went_on() -> None:
    line = _timeline(
        (100.0, _called(1)),
        (130.0, _called(2)),
        (131.0, ReplyEntry(call=2, text="hi", ms=1000)),
        (131.0, ToolStartedEntry(call=2, index=0, name="exec")),
        (150.0, ToolResultEntry(call=2, index=0, name="exec", text=f"{CUT_OFF}: ...", ok=False)),
        ended_at=150.0,
    )

    assert [(p.start, p.end, p.outcome) for p in _of(line, "model")] == [
        (100.0, 130.0, "cut off"),
        (130.0, 131.0, ""),
    ]
    assert [(p.start, p.end, p.outcome) for p in _of(line, "tool")] == [(131.0, 150.0, "cut off")]


def test_what_a_live_run_does_lasts_until_now() -> None:
    (call,) = _of(_timeline((100.0, _called(1)), now=160.0), "model")

    assert (call.end, call.outcome) == (160.0, "open")


def test_a_run_that_ended_within_a_call_says_that_it_was_cut_off() -> None:
    (call,) = _of(_timeline((100.0, _called(1)), ended_at=110.0), "model")

    assert (call.end, call.outcome) == (110.0, "cut off")


def test_a_model_that_failed_is_marked_and_the_next_one_is_a_call_of_its_own() -> None:
    line = _timeline(
        (100.0, _called(1)),
        (105.0, FallbackEntry(text="gone", ms=5000)),
        (105.0, _called(2)),
        (106.0, ReplyEntry(call=2, text="hi", ms=1000)),
        ended_at=106.0,
    )

    assert [piece.outcome for piece in _of(line, "model")] == ["failed", ""]


def test_the_delivery_begins_when_the_run_ended_although_its_preview_is_older() -> None:
    sent = Delivery(channel="telegram", state="sent", created_at=101.0, settled_at=123.0)
    line = _timeline((100.0, _called(1)), ended_at=103.0, sent=(sent,))

    (delivery,) = _of(line, "delivery")
    assert (delivery.start, delivery.end) == (103.0, 123.0)
    assert line.where.endswith("delivery to telegram")


def test_an_answer_that_is_not_delivered_yet_is_still_going_on() -> None:
    owed = Delivery(channel="telegram", state="pending", created_at=103.0, settled_at=None)
    (delivery,) = _of(_timeline(ended_at=103.0, sent=(owed,)), "delivery")

    assert (delivery.end, delivery.outcome) == (200.0, "open")


@pytest.mark.parametrize(
    "body",
    [None, {"type": "of-a-later-version"}, {"type": "reply"}, {"no": "type"}],
    ids=["erased", "unknown", "incomplete", "without a type"],
)
def test_an_entry_without_content_leaves_the_others_as_they_are(body: dict[str, object]) -> None:
    broken = as_entry(EntryView(seq=2, run_id="r", at=101.0, kind="reply", body=body))
    entries = [Entry(1, "r", 100.0, _called(1)), broken]
    times = Times(run_id="r", created_at=100.0, ended_at=105.0)

    (call,) = timeline_of(times, entries, (), 200.0).pieces
    assert (call.name, call.end) == ("m", 105.0)


def test_tools_side_by_side_count_once() -> None:
    line = _timeline(
        (100.0, ReplyEntry(call=1, text="", tool_calls=())),
        (110.0, ToolResultEntry(call=1, index=0, name="web_fetch", text="", ms=10_000)),
        (110.0, ToolResultEntry(call=1, index=1, name="web_fetch", text="", ms=10_000)),
        ended_at=110.0,
    )

    assert line.where == "10 s of 10 s: tool web_fetch, 2 times"


def test_a_clock_that_is_set_back_gives_no_negative_time() -> None:
    line = _timeline(
        (100.0, _called(1)), (50.0, ReplyEntry(call=1, text="", ms=-5)), ended_at=40.0, now=30.0
    )

    assert all(piece.end >= piece.start for piece in line.pieces)
    assert line.end >= line.start


def test_a_thousand_calls_are_shown_by_the_longest_of_them() -> None:
    log: list[tuple[float, Body]] = []
    for number in range(1, 1001):
        log.append((100.0 + number, _called(number)))
        ms = 900 if number == 500 else 100
        log.append((100.0 + number + ms / 1000, ReplyEntry(call=number, text="", ms=ms)))
    line = _timeline(*log, ended_at=1200.0, now=1200.0)
    run = RunView(
        id="r",
        session_key="s",
        kind=RunKind.CHAT,
        state=RunState.COMPLETED,
        parent=None,
        inbound_ids=(),
        usage=None,
        error=None,
        origin="user",
        address="",
        attempts=1,
        created_at=100.0,
        ended_at=1200.0,
    )
    lines = waterfall_lines(RunPage(run=run, entries=(), timeline=line))

    assert len(_of(line, "model")) == 1000
    assert len(lines) < 50
    assert any("shorter steps are left out" in text for text in lines)
    assert any("0.9 s" in text for text in lines)


def test_the_same_log_gives_the_same_timeline() -> None:
    log = ((100.0, _asked()), (101.0, _called(1)), (103.0, ReplyEntry(call=1, text="", ms=1500)))

    assert msgspec.json.encode(_timeline(*log)) == msgspec.json.encode(_timeline(*log))
