"""A log once more: requests and steps come out the same, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loguru import logger

from nanobot.agent.context import request_digest, request_of
from nanobot.messages import RunOptions
from nanobot.plugins.replay.replaying import Replayed, prompts_of, replayed
from nanobot.providers.base import ModelRequest
from nanobot.session.entries import Entry, ModelCallEntry, ReplyEntry, ToolResultEntry
from nanobot.session.runs import PromptSnapshot
from nanobot.testing import gateway
from nanobot.testing.gateway import Process
from nanobot.testing.model import ScriptedProvider
from tests.agent import corpus
from tests.agent.building import RUN, asking, log, reply, result, user
from tests.agent.test_simulation import Life
from tests.store.filling import REVISIONS
from tests.stored import lists_of, log_of

SNAPSHOT = PromptSnapshot(system="You are a bot.", tools=())
PROMPTS = {SNAPSHOT.digest: SNAPSHOT}


@pytest.fixture(scope="module")
def sessions() -> list[corpus.Kept]:
    return corpus.load()


def test_the_corpus_holds_hundreds_of_runs_of_every_revision(
    sessions: list[corpus.Kept],
) -> None:
    runs = {(each.name, run) for each in sessions for _, run, _, _ in each.entries if run}
    revisions = {each.name.split()[1] for each in sessions if each.name.startswith("revision")}
    requests = sum(len(each.requests) for each in sessions)

    assert len(runs) >= 300
    assert revisions == {path.name[:4] for path in REVISIONS.glob("*.db.gz")}
    assert requests >= 300


def test_every_request_of_the_corpus_has_the_same_bytes_as_when_it_was_kept(
    sessions: list[corpus.Kept],
) -> None:
    for session in sessions:
        again = replayed(session.log(), session.prompts)
        assert again.difference is None, (session.name, again.difference)
        assert again.requests == session.requests, f"{session.name}; on purpose? {corpus.CHANGES}"


def test_the_last_change_on_purpose_names_the_corpus(sessions: list[corpus.Kept]) -> None:
    last = corpus.CHANGES.read_text(encoding="utf-8").splitlines()[-1]
    name, _, reason = last.removeprefix("- ").partition(": ")

    assert name == corpus.fingerprint(sessions)
    assert reason.strip()


def test_a_changed_context_builder_is_caught_by_the_first_replay(
    sessions: list[corpus.Kept],
) -> None:
    def changed(
        visible: Sequence[Entry], prompt: PromptSnapshot, call: ModelCallEntry, options: RunOptions
    ) -> ModelRequest:
        request = request_of(visible, prompt, call, options)
        last = msgspec.structs.replace(request.messages[-1], content="[another header]")
        return msgspec.structs.replace(request, messages=(*request.messages[:-1], last))

    lives = (each for each in sessions if each.name.startswith("life"))
    session = next(s for s in lives if replayed(s.log(), s.prompts).compared)
    difference = replayed(session.log(), session.prompts, builder=changed).difference
    first = _first_answered(session.log())

    assert difference is not None
    assert (difference.entry, difference.field) == (first.seq, "request")


def _first_answered(entries: list[Entry]) -> Entry:
    """The first model call whose reply names its request."""
    replies = [(e.run_id, e.body) for e in entries if isinstance(e.body, ReplyEntry)]
    answered = {(run_id, body.call) for run_id, body in replies if body.request}
    calls = ((e, e.body) for e in entries if isinstance(e.body, ModelCallEntry))
    return next(e for e, body in calls if (e.run_id, body.call) in answered)


async def life_of(seed: int) -> list[Replayed]:
    logger.disable("nanobot")
    life = Life(seed)
    try:
        await life.whole()
        life.judge()
        journal = Process(life.home).journal
        found = []
        for entries in life.logs.values():
            kept = {name: await journal.snapshot(name) for name in prompts_of(entries)}
            found.append(replayed(entries, {k: v for k, v in kept.items() if v is not None}))
        return found
    finally:
        await life.home.close()
        logger.enable("nanobot")


@pytest.mark.process
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(10_000, 10**6))
async def test_any_life_of_failures_and_crashes_replays_identically(seed: int) -> None:
    for again in await life_of(seed):
        assert again.difference is None
        assert again.skipped == ()
        assert again.compared > 0


async def test_what_a_model_was_really_sent_is_what_the_log_names() -> None:
    provider = ScriptedProvider("Hi Ann.")
    async with gateway(provider) as bot:
        await bot.channel.push("hello")
        await bot.settle()
        (session,) = await lists_of(bot.records).newest(limit=5, unread=False)
        views = await log_of(bot.records).entries(session.key, after=0, limit=100)
    (answer,) = [view for view in views if view.kind == "reply"]

    assert answer.body is not None
    assert answer.body["request"] == request_digest(provider.requests[0])


def calling(number: int) -> ModelCallEntry:

    return msgspec.structs.replace(asking(number), prompt=SNAPSHOT.digest)


def plain() -> list[Entry]:

    return log(
        user(),
        calling(1),
        reply(1, "", "look"),
        result(1, text="seen"),
        calling(2),
        reply(2, "Done."),
    )


def test_an_untouched_log_replays_without_a_difference() -> None:
    again = replayed(plain(), PROMPTS)

    assert (again.difference, again.steps, again.runs) == (None, 3, 1)
    assert (len(again.requests), again.compared) == (2, 0)  # it has no digests, as older logs


@pytest.mark.parametrize("field", ["result of another call", "call without a reason"])
def test_a_step_that_the_log_does_not_lead_to_is_named(field: str) -> None:
    entries = plain()
    if field == "result of another call":
        wrong = ToolResultEntry(call=1, index=7, name="look", text="x")
        entries[3] = Entry(4, RUN, 0.0, wrong)
        at = 4
    else:
        entries.append(Entry(7, RUN, 0.0, calling(3)))
        at = 7
    difference = replayed(entries, PROMPTS).difference

    assert difference is not None
    assert (difference.entry, difference.field) == (at, "step")


def test_a_reply_to_another_request_is_named_with_both_digests() -> None:
    entries = plain()
    said = entries[5].body
    assert isinstance(said, ReplyEntry)
    entries[5] = Entry(6, RUN, 0.0, msgspec.structs.replace(said, request="0" * 64))
    difference = replayed(entries, PROMPTS).difference

    assert difference is not None
    assert (difference.entry, difference.field, difference.logged) == (5, "request", "0" * 64)


def test_an_erased_entry_in_the_window_is_named_and_not_guessed() -> None:
    entries = plain()
    entries[0] = Entry(1, RUN, 0.0, None)
    again = replayed(entries, PROMPTS)

    assert again.difference is None
    assert again.requests == {}
    assert again.skipped[0] == "entry 2: its window holds entry 1, erased"


def test_a_prompt_that_is_gone_or_changed_is_named() -> None:
    gone = replayed(plain(), {})
    changed = replayed(plain(), {SNAPSHOT.digest: PromptSnapshot(system="Other", tools=())})

    assert "is gone" in gone.skipped[0]
    assert "is not what its name says" in changed.skipped[0]


@pytest.mark.parametrize("turns", [2_000, pytest.param(33_334, marks=pytest.mark.slow)])
def test_a_very_long_log_is_replayed_window_by_window(turns: int) -> None:
    entries: list[Entry] = []
    for turn in range(turns):
        first = 3 * turn + 1
        call = msgspec.structs.replace(calling(1), window_from=max(first - 30, 1))
        entries += log(user(f"m{turn}"), call, reply(1, "ok"), run_id=f"r{turn}", first=first)
    again = replayed(entries, PROMPTS)

    assert len(again.requests) == again.runs == turns
    assert again.difference is None
