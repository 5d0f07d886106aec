"""What the model sees: stable, mended, and cut in steps."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.agent.context import PromptBudget, Window, context, plan_window
from nanobot.agent.entry_messages import estimate_tokens
from nanobot.messages import Origin
from nanobot.providers.base import ChatMessage, ModelProfile, ToolCall, ToolSpec, Usage
from nanobot.session.entries import (
    Body,
    Entry,
    FailedEntry,
    ModelCallEntry,
    OverflowEntry,
    PostEntry,
    UndeliveredEntry,
    UserEntry,
)
from nanobot.session.runs import PromptSnapshot
from tests.agent.building import PROFILE, asking, joined, log, reply, result, started, user

SNAPSHOT = PromptSnapshot(system="You are nanobot.", tools=(ToolSpec("look", "Looks.", {}),))
POST = PostEntry(text="The job is done.", key="k")
UNDELIVERED = UndeliveredEntry(text="This was not delivered")


def seen(entries: list[Entry], call: ModelCallEntry | None = None) -> list[tuple[str, str]]:
    """Role and content of each message but the system's, without the line on top."""
    messages = context(entries, SNAPSHOT, call or asking(1))
    assert messages[0] == ChatMessage(role="system", content=SNAPSHOT.system)
    return [(m.role, str(m.content).partition("]\n")[2] or str(m.content)) for m in messages[1:]]


def talk(count: int, text: str = "word " * 20, *, tools: bool = False) -> list[Entry]:
    runs: list[tuple[str, list[Body]]] = []
    for number in range(count):
        bodies: list[Body] = [user(f"{number} {text}"), asking(1)]
        if tools:
            bodies += [reply(1, "", "look", "look"), result(1, 0), result(1, 1), asking(2)]
        runs.append((f"run-{number}", [*bodies, reply(2, f"answer {number} {text}")]))
    return joined(runs)


# Rendering


def test_the_same_entries_give_the_same_bytes() -> None:
    entries = talk(5, tools=True)
    copies = [Entry(e.seq, e.run_id, e.at + 99, e.body) for e in entries]
    first, second = (context(es, SNAPSHOT, asking(1)) for es in (entries, copies))
    assert msgspec.json.encode(first) == msgspec.json.encode(second)


def test_a_message_is_told_with_its_time_channel_and_sender() -> None:
    entry = UserEntry(
        **{**msgspec.structs.asdict(user("hi")), "zone": "Europe/Berlin", "sender_name": "Ann"}
    )
    (message,) = context(log(entry), SNAPSHOT, asking(1))[1:]
    assert message.content == "[Fri 2027-01-15 09:00 Europe/Berlin, fake, Ann]\nhi"


def test_a_message_nobody_typed_says_where_it_came_from() -> None:
    entry = msgspec.structs.replace(user("go"), origin=Origin.CRON)
    (message,) = context(log(entry), SNAPSHOT, asking(1))[1:]
    assert "cron: 1001" in str(message.content)


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "", "America", "../../etc/passwd", "a\0b", "x" * 999]
)
def test_an_unknown_zone_is_read_as_utc(zone: str) -> None:
    entry = msgspec.structs.replace(user("hi"), zone=zone)
    (message,) = context(log(entry), SNAPSHOT, asking(1))[1:]
    assert str(message.content).startswith("[Fri 2027-01-15 08:00 ")


def test_half_an_emoji_can_be_rendered_and_measured() -> None:
    assert estimate_tokens("\ud83d" * 30) > 0
    profile = ModelProfile(name="m", provider="p", context_tokens=100)
    entries = log(user("\ud83d" * 500))
    assert "left out" in seen(entries, asking(1, profile))[0][1]
    plan_window(entries, 1, room(profile), overflowed=False)


def test_short_prompts_leave_the_line_on_top_out() -> None:
    profile = ModelProfile(name="m", provider="p", short_prompt=True)
    assert context(log(user("hi")), SNAPSHOT, asking(1, profile))[1].content == "hi"


def test_a_partial_reply_says_that_it_was_stopped_and_an_empty_one_is_not_shown() -> None:
    entries = joined(
        [
            ("a", [user(), asking(1), reply(1, "half a ", partial=True)]),
            ("b", [user(), asking(1), reply(1, "  ", partial=True)]),
            ("c", [user("go on")]),
        ]
    )
    assert seen(entries) == [
        ("user", "hello"),
        ("assistant", "half a [stopped here]"),
        ("user", "hello"),
        ("user", "go on"),
    ]


def test_calls_of_a_partial_reply_are_not_shown() -> None:
    (_system, _user, partial) = context(
        log(user(), reply(1, "a", "look", partial=True)), SNAPSHOT, asking(1)
    )
    assert partial.tool_calls == ()


def test_a_model_without_tools_sees_neither_calls_nor_results() -> None:
    profile = ModelProfile(name="m", provider="p", tools=False)
    entries = log(
        user(), asking(1), reply(1, "looking", "look"), result(1), asking(2), reply(2, "so")
    )
    assert seen(entries, asking(3, profile)) == [
        ("user", "hello"),
        ("assistant", "looking"),
        ("assistant", "so"),
    ]


def test_calls_of_two_replies_have_different_ids_even_if_the_provider_gave_none() -> None:
    call = ToolCall("", "look", "{}")
    entries = log(
        user(), reply(1, "", call, call), result(1, 0), result(1, 1), reply(2, "", call), result(2)
    )
    ids = [c.id for m in context(entries, SNAPSHOT, asking(3)) for c in m.tool_calls]
    assert len(set(ids)) == 3


def test_errors_are_told_as_notes_and_bookkeeping_is_not_shown() -> None:
    failed = FailedEntry(text="I could not answer: no connection")
    entries = joined([("a", [user(), failed, OverflowEntry(text="x")]), ("b", [user("again")])])
    assert seen(entries) == [
        ("user", "hello"),
        ("user", "[note from the gateway: I could not answer: no connection]"),
        ("user", "again"),
    ]


def test_erased_entries_are_not_shown() -> None:
    assert seen(log(user(), None, reply(1, "hi"))) == [("user", "hello"), ("assistant", "hi")]


# What others write meanwhile


@pytest.mark.parametrize("foreign", [POST, UNDELIVERED])
def test_what_is_written_meanwhile_never_parts_a_call_from_its_result(foreign: Body) -> None:
    begun: list[Body] = [user(), asking(1), reply(1, "", "look", "look"), result(1, 0, "one")]
    entries = log(*begun, foreign, result(1, 1, "two"), asking(2), reply(2, "done"))
    entries += log(user("next"), run_id="run-2", first=len(entries) + 1)
    contents = [content for _role, content in seen(entries)]
    assert contents[1:5] == ["", "one", "two", "done"]
    assert contents[6] == "next"
    assert contents[5] in (POST.text, f"[note from the gateway: {UNDELIVERED.text}]")


def test_a_run_that_resumes_sees_what_it_saw_before() -> None:
    before = log(user(), asking(1), reply(1, "", "look"), result(1))
    assert seen([*before, Entry(5, "", 0.0, POST)]) == seen(before)


def test_a_post_is_there_when_its_reader_answers_it() -> None:
    entries = joined([("a", [user(), reply(1, "hi")]), ("", [POST]), ("b", [user("yes, do that")])])
    assert [content for _role, content in seen(entries)][-2:] == [POST.text, "yes, do that"]


# Mending


def assert_well_formed(messages: tuple[ChatMessage, ...]) -> None:
    """Each call has exactly one result, directly after it; no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
            waiting = [call.id for call in message.tool_calls]
            assert len(set(waiting)) == len(waiting)
    assert not waiting


WHOLE = talk(3, "x", tools=True)
EXTRA: list[Body] = [
    POST,
    UNDELIVERED,
    started(1),
    result(1, 0),
    result(9, 9),
    reply(1, "", "look"),
    FailedEntry(text="e"),
    user("steer", steered=True),
]


@given(
    st.sets(st.integers(0, len(WHOLE) - 1)),
    st.lists(st.tuples(st.integers(0, len(WHOLE)), st.sampled_from(EXTRA)), max_size=6),
    st.integers(1, 10),
)
def test_however_a_history_is_broken_the_model_sees_a_whole_one(
    deleted: set[int], added: list[tuple[int, Body]], start: int
) -> None:
    bodies = [(e.run_id, e.body) for n, e in enumerate(WHOLE) if n not in deleted]
    for position, body in added:
        bodies.insert(min(position, len(bodies)), ("run-1", body))
    entries = [Entry(seq, run_id, 0.0, body) for seq, (run_id, body) in enumerate(bodies, 1)]
    assert_well_formed(context(entries, SNAPSHOT, asking(1, window_from=start)))


def test_a_call_that_never_got_a_result_is_told_as_unknown() -> None:
    entries = joined([("a", [user(), reply(1, "", "exec"), started(1)]), ("b", [user("and?")])])
    assert seen(entries)[2] == ("tool", "interrupted, outcome unknown")


def test_calls_that_a_limit_kept_from_being_made_are_told_as_such() -> None:
    cut: list[Body] = [user(), reply(1, "", "look", "exec"), result(1)]
    entries = joined([("a", cut), ("b", [user("and?")])])
    assert seen(entries)[2:4] == [("tool", "ok"), ("tool", "not executed: the run ended before")]


# The window


def room(
    profile: ModelProfile = PROFILE, *, fixed: int = 0, max_history: int = 10_000
) -> PromptBudget:
    return PromptBudget(profile=profile, fixed=fixed, max_tokens=1_000, max_history=max_history)


def small(tokens: int) -> ModelProfile:
    return ModelProfile(name="m", provider="p", context_tokens=tokens + 1_000)


def turns(entries: list[Entry], start: int) -> list[int]:
    return [e.seq for e in entries if isinstance(e.body, UserEntry) and e.seq >= start]


def test_a_window_with_room_stays() -> None:
    entries = talk(10)
    assert plan_window(entries, 1, room(), overflowed=False).start == 1


@pytest.mark.parametrize("tools", [False, True])
def test_a_full_window_is_cut_to_half_at_the_beginning_of_a_turn(tools: bool) -> None:
    entries = talk(40, tools=tools)
    full = plan_window(entries, 1, room(), overflowed=False).estimate
    before, after = small(int(full / 0.8) + 2), small(int(full / 0.8) - 2)
    assert plan_window(entries, 1, room(before), overflowed=False).start == 1
    cut = plan_window(entries, 1, room(after), overflowed=False)
    assert cut.start in turns(entries, 2)
    assert 0.4 * full / 0.8 < cut.estimate <= 0.5 * full / 0.8
    assert plan_window(entries, cut.start, room(after), overflowed=False).start == cut.start


def test_too_many_messages_cut_the_window_to_half_of_them() -> None:
    entries = talk(21)
    assert plan_window(entries, 1, room(max_history=40), overflowed=False).start == 1
    cut = plan_window(entries, 1, room(max_history=39), overflowed=False)
    assert len(turns(entries, cut.start)) == 10
    assert cut.start in turns(entries, 2)


def test_an_overflow_cuts_even_a_window_with_room() -> None:
    entries = talk(20)
    cut = plan_window(entries, 1, room(), overflowed=True)
    assert 5 <= len(turns(entries, cut.start)) <= 10


def test_the_current_turn_is_never_cut() -> None:
    long = joined(
        [("a", [user("x" * 9_000)]), ("b", [user("y" * 90_000), asking(1), reply(1, "", "look")])]
    )
    (_old, current) = turns(long, 1)
    for overflowed in (False, True):
        assert plan_window(long, 1, room(small(1_000)), overflowed=overflowed).start == current
        window = plan_window(long, current, room(small(1_000)), overflowed=overflowed)
        assert window.start == current


def test_messages_that_steered_belong_to_their_turn() -> None:
    entries = joined(
        [("a", [user("x" * 9_000)]), ("b", [user("now"), asking(1), user("more", steered=True)])]
    )
    assert (
        plan_window(entries, 1, room(small(1_000)), overflowed=False).start == turns(entries, 1)[1]
    )


def test_the_providers_own_count_corrects_the_estimate() -> None:
    entries = talk(20)
    estimated = plan_window(entries, 1, room(), overflowed=False).estimate
    call = msgspec.structs.replace(asking(1), estimate=estimated)
    for counted, factor in ((2 * estimated, 2.0), (9 * estimated, 2.0), (1, 0.5), (0, 1.0)):
        counted_reply = msgspec.structs.replace(reply(1, ""), usage=Usage(prompt_tokens=counted))
        more = log(call, counted_reply, run_id="last", first=len(entries) + 1)
        corrected = plan_window([*entries, *more], 1, room(), overflowed=False).estimate
        assert corrected == pytest.approx(estimated * factor, rel=0.01)


def test_what_the_system_prompt_takes_counts() -> None:
    entries = talk(20)
    assert plan_window(entries, 1, room(small(20_000)), overflowed=False).start == 1
    assert plan_window(entries, 1, room(small(20_000), fixed=15_500), overflowed=False).start > 1


def test_an_empty_log_has_a_window() -> None:
    assert plan_window([], 7, room(), overflowed=True) == Window(7, 0)


@pytest.mark.parametrize("letter", ["x", "é", "漢", "🎉"])
def test_a_huge_text_is_clipped_to_less_than_half_of_the_model(letter: str) -> None:
    profile = small(5_000)
    (content,) = [c for _role, c in seen(log(user(letter * 100_000)), asking(1, profile))]
    assert "characters left out: too long for this model" in content
    assert content.startswith(letter * 100)
    assert content.endswith(letter * 100)
    assert estimate_tokens(content) < profile.context_tokens * 0.45


def test_a_turn_too_long_for_the_model_leaves_its_oldest_results_out() -> None:
    bodies: list[Body] = [user("go")]
    for call in range(1, 6):
        bodies += [asking(call), reply(call, "", "look"), result(call, text=f"{call}" * 3_000)]
    messages = context(log(*bodies), SNAPSHOT, asking(6, small(2_500)))
    results = [str(m.content) for m in messages if m.role == "tool"]
    kept = [text for text in results if not text.startswith("(an older result")]
    assert 0 < len(kept) < 5
    assert kept == results[-len(kept) :]
    assert sum(estimate_tokens(str(m.content)) for m in messages) < 2_500
    assert_well_formed(messages)


def test_the_system_prompt_counts_where_a_turn_is_fitted_in() -> None:
    entries = log(user("go"), asking(1), reply(1, "", "look"), result(1, text="x" * 6_000))
    long = PromptSnapshot(system="y" * 6_000, tools=())
    assert context(entries, SNAPSHOT, asking(2, small(3_000)))[-1].content == "x" * 6_000
    assert str(context(entries, long, asking(2, small(3_000)))[-1].content).startswith("(an older")


# From call to call


@pytest.mark.parametrize("profile", [PROFILE, small(3_000), small(8_000)])
def test_each_request_begins_with_the_one_before_unless_the_window_was_cut(
    profile: ModelProfile,
) -> None:
    """A session of 60 turns, some with tools, with posts and failures in between."""
    chance = random.Random(7)
    entries: list[Entry] = []
    start, cuts, before = 1, 0, tuple[ChatMessage, ...]()
    for turn in range(60):
        run_id = f"run-{turn}"

        def write(*bodies: Body, run_id: str = run_id) -> None:
            entries.extend(log(*bodies, run_id=run_id, first=len(entries) + 1))

        if chance.random() < 0.2:
            write(POST, run_id="")
        write(user(f"{turn} " + "word " * chance.randint(1, 60)))
        rounds = chance.randint(0, 3)
        for call in range(1, rounds + 2):
            window = plan_window(entries, start, room(profile, max_history=90), overflowed=False)
            write(asking(call, profile, window_from=window.start))
            messages = context(entries, SNAPSHOT, asking(call, profile, window_from=window.start))
            assert_well_formed(messages)
            if window.start == start:
                assert messages[: len(before)] == before
            else:
                cuts += 1
                assert window.start in turns(entries, start)
            start, before = window.start, messages
            if call <= rounds:
                write(reply(call, "", "look", "look"))
                write(result(call, 0, "r" * chance.randint(1, 200)))
                if chance.random() < 0.3:
                    write(UNDELIVERED, run_id=chance.choice(["", "run-0", run_id]))
                write(result(call, 1))
            else:
                write(reply(call, "answer " * chance.randint(1, 40)))
    assert cuts <= 12
    assert cuts > 1
