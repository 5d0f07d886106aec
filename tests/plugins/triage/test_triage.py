"""Triage: the decision before a run acts, what follows from it, and what never does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nanobot.errors import ModelUnreachable
from nanobot.messages import Role
from nanobot.providers.base import Completion, ModelProfile, ModelRequest, Usage
from nanobot.session.entries import AuxiliaryFailedEntry, ModelCallEntry, ReplyEntry, TriageEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import MEMBER
from tests.agent.tooling import answered, bodies
from tests.plugins.triage.doubles import FakeFacts, FakeStarter, triage
from tests.stored import runs_of

SESSION = "fake:1"


def decision(kind: str, **fields: Any) -> str:
    return msgspec.json.encode(
        {"decision": kind, "confidence": 0.9, "reason": "because", **fields}
    ).decode()


def run(kind: str = "sleep", conversation: str | None = SESSION, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "title": "Nap",
        "conversation_id": conversation,
        "input": {"seconds": 5},
        **fields,
    }


REPLY = decision("reply", reply={"content": "Hello there."})
RUN = decision("run", run=run())
BOTH = decision("reply_and_run", reply={"content": "At once."}, run=run())


def is_triage(request: ModelRequest) -> bool:
    return str(request.messages[0].content).startswith("You decide what an assistant does")


def model(answer: Any = REPLY, **profile: Any) -> ScriptedProvider:
    """Decides `answer`, and says "acted" when a run acts."""
    return ScriptedProvider(
        otherwise=lambda request: answer if is_triage(request) else "acted",
        model=ModelProfile(name="scripted", provider="test", **profile),
    )


def options(starter: FakeStarter, lasting: FakeFacts | None = None, **settings: Any) -> Options:
    return Options(stages=triage(starter, lasting, **settings), guests=("3",))


async def said(bot: FakeGateway, text: str = "Hi") -> str:
    await bot.channel.push(text)
    answer = (await bot.channel.pop()).text
    await bot.settle()
    return answer


async def test_a_reply_ends_the_run_and_starts_nothing() -> None:
    provider, starter = model(), FakeStarter()
    async with gateway(provider, options=options(starter)) as bot:
        assert await said(bot) == "Hello there."
        assert not starter.started
        assert bodies(bot, ModelCallEntry) == []
        (reply,) = bodies(bot, ReplyEntry)
        assert reply.text == "Hello there."
        await said(bot, "And now?")
        # What was said so is part of the conversation.
        assert "assistant: Hello there." in str(provider.requests[-1].messages[1].content)


async def test_a_run_is_started_and_said_so(starter: FakeStarter) -> None:
    async with gateway(model(RUN), options=options(starter)) as bot:
        assert await said(bot) == "Started: Nap; I will tell you when it is done."
        (wanted,) = starter.started.values()
        assert (wanted.type, wanted.title, wanted.input) == ("sleep", "Nap", {"seconds": 5})
        assert wanted.parent is not None
        assert wanted.parent.session_key == str(wanted.parent.address) == SESSION


async def test_reply_and_run_answers_at_once_and_starts_the_run(starter: FakeStarter) -> None:
    async with gateway(model(BOTH), options=options(starter)) as bot:
        assert await said(bot) == "At once."
        (wanted,) = starter.started.values()
        (entry,) = bodies(bot, TriageEntry)
        assert (entry.decision, entry.key) == ("reply_and_run", wanted.key)
        assert wanted.parent is not None
        assert wanted.key == f"{wanted.parent.run_id}:triage"


async def test_a_run_of_no_conversation_is_started_without_one(starter: FakeStarter) -> None:
    answer = decision("run", run=run(conversation=None))
    async with gateway(model(answer), options=options(starter)) as bot:
        await said(bot)
        assert [wanted.parent for wanted in starter.started.values()] == [None]
        # What belongs to nobody is an owner's: a member's run stays theirs.
        await bot.channel.push("Hi", sender=MEMBER, chat="2")
        await bot.settle()
        assert [w.parent.role for w in starter.started.values() if w.parent] == [Role.MEMBER]


async def test_a_refused_run_still_sends_the_reply_with_a_line_why() -> None:
    starter = FakeStarter(refuses="there are too many")
    async with gateway(model(BOTH), options=options(starter)) as bot:
        assert await said(bot) == "At once.\n\n(I could not start Nap: there are too many)"
    async with gateway(model(RUN), options=options(starter)) as bot:
        assert await said(bot) == "I could not start Nap: there are too many"


WRONG = {
    "no JSON": "I would say reply.",
    "no object": "[]",
    "an unknown decision": decision("wait"),
    "an unknown field": decision("reply", reply={"content": "x"}, mood="good"),
    "no confidence": '{"decision": "reply", "reply": {"content": "x"}, "reason": ""}',
    "too sure": '{"decision":"reply","reply":{"content":"x"},"reason":"","confidence":1.5}',
    "no reply": decision("reply"),
    "an empty reply": decision("reply", reply={"content": " "}),
    "a reply with a run": decision("reply", reply={"content": "x"}, run=run()),
    "a run with a reply": decision("run", reply={"content": "x"}, run=run()),
    "no run": decision("run"),
    "both without a run": decision("reply_and_run", reply={"content": "x"}),
    "both without a reply": decision("reply_and_run", run=run()),
    "another conversation": decision("run", run=run(conversation="fake:2")),
    "no conversation at all": decision("run", run={"type": "sleep", "input": {}}),
    "an unknown type": decision("run", run=run("mine_bitcoin")),
    "input that is no object": decision("run", run=run(input=[1])),
    "endless input": decision("run", run=run(input={"x": "y" * 30_000})),
    "deep nesting": '{"decision": ' + "[" * 100_000,
    "an unreachable model": ModelUnreachable("gone"),
}


@pytest.mark.parametrize("why", WRONG)
async def test_what_is_not_a_decision_falls_through_to_acting_with_a_note(why: str) -> None:
    starter = FakeStarter()
    async with gateway(model(WRONG[why]), options=options(starter)) as bot:
        assert await said(bot) == "acted"
        assert not starter.calls
        (note,) = bodies(bot, AuxiliaryFailedEntry)
        assert note.text
        (entry,) = bodies(bot, TriageEntry)
        assert entry.decision == "act"


async def test_a_late_decision_falls_through_to_acting() -> None:
    starter, late = FakeStarter(), Held()
    provider = ScriptedProvider(late, "acted")
    async with gateway(provider, options=options(starter, timeout_seconds=0.5)) as bot:
        assert await said(bot) == "acted"
        (note,) = bodies(bot, AuxiliaryFailedEntry)
        assert note.text == "no decision within 0.5 s"
        assert not starter.calls


async def test_an_empty_object_leaves_it_to_the_run_without_a_word() -> None:
    async with gateway(model("{}"), options=options(FakeStarter())) as bot:
        assert await said(bot) == "acted"
        assert bodies(bot, AuxiliaryFailedEntry) == []


async def test_a_code_fence_around_the_decision_is_taken_off() -> None:
    async with gateway(model(f"```json\n{REPLY}\n```"), options=options(FakeStarter())) as bot:
        assert await said(bot) == "Hello there."


async def test_reply_only_says_sorry_or_the_reply_with_why_there_is_no_run() -> None:
    starter = FakeStarter()
    chosen = options(starter, fallback_mode="reply-only", allowed_run_types=["sleep"])
    async with gateway(model("nonsense"), options=chosen) as bot:
        assert "Sorry" in await said(bot)
    answer = decision("reply_and_run", reply={"content": "Sure."}, run=run("agent"))
    async with gateway(model(answer), options=chosen) as bot:
        assert await said(bot) == "Sure.\n\n(I cannot start a task of the type agent.)"
    assert not starter.calls


async def test_it_sees_the_message_the_history_the_facts_and_the_last_runs() -> None:
    provider, lasting = model("{}"), FakeFacts("Ada likes tea.")
    async with gateway(provider, options=options(FakeStarter(), lasting)) as bot:
        for number in range(12):
            await said(bot, f"message {number}")
        seen = str(
            [request for request in provider.requests if is_triage(request)][-1].messages[1].content
        )
        assert "## message\nmessage 11" in seen
        assert "Ada likes tea." in seen
        assert "message 10\nassistant: acted" in seen
        # The ten before this one; its own is not among them.
        assert seen.count(": completed") == 9


async def test_its_tokens_count_for_the_run() -> None:
    answer = Completion(text=REPLY, usage=Usage(100, 20))
    async with gateway(model(answer), options=options(FakeStarter())) as bot:
        await said(bot)
        (view,) = await runs_of(bot.records).listed(session=SESSION, state="", limit=10)
        assert view.usage is not None
        assert (view.usage.prompt_tokens, view.usage.completion_tokens) == (100, 20)


async def test_a_small_model_is_spared_it() -> None:
    provider = model(helper_calls=False)
    async with gateway(provider, options=options(FakeStarter())) as bot:
        assert await said(bot) == "acted"
        assert not any(is_triage(request) for request in provider.requests)


async def test_guests_are_answered_as_usual() -> None:
    provider = model()
    async with gateway(provider, options=options(FakeStarter())) as bot:
        await bot.channel.push("Hi", sender="3")
        assert (await bot.channel.pop()).text == "acted"


async def test_the_same_words_twice_in_a_moment_start_one_run() -> None:
    provider, starter = model(RUN), FakeStarter()
    async with gateway(provider, options=options(starter)) as bot:
        for _ in range(2):
            assert (
                await said(bot, "Sleep a bit") == "Started: Nap; I will tell you when it is done."
            )
        assert len(starter.started) == 1
        assert len([request for request in provider.requests if is_triage(request)]) == 1


async def test_the_same_words_later_start_another_run(starter: FakeStarter) -> None:
    async with gateway(model(RUN), options=options(starter)) as bot:
        for later in (0.0, 11.0):
            await bot.channel.push("Sleep a bit", sent_at=1_800_000_000.0 + later)
            await answered(bot)
    assert len(starter.started) == 2


class _Dies(FakeStarter):
    """Starts the run, and the process dies before that is known."""

    def __init__(self) -> None:
        super().__init__()
        self.bot: FakeGateway | None = None

    async def start(self, wanted: Any) -> str:
        run_id = await super().start(wanted)
        if self.bot is not None:
            bot, self.bot = self.bot, None
            bot.crash()
        return run_id


async def test_a_crash_after_the_decision_asks_nobody_again_and_starts_one_run() -> None:
    provider, starter = model(BOTH), _Dies()
    async with MemoryHome() as home:
        async with gateway(provider, home=home, options=options(starter)) as bot:
            starter.bot = bot
            await bot.channel.push("Hi")
            await bot.settle()
        async with gateway(provider, home=home, options=options(starter)) as bot:
            assert (await bot.channel.pop()).text == "At once."
            assert len([request for request in provider.requests if is_triage(request)]) == 1
            assert (starter.calls, len(starter.started)) == (2, 1)
            assert len(bodies(bot, TriageEntry)) == 1
