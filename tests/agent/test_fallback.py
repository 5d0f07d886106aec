"""When a model fails for good, the next one is asked, and the log says who was."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nanobot.agent.prompt import PromptBuilder
from nanobot.agent.settings import RunSettings
from nanobot.agent.step import StepLimits
from nanobot.errors import (
    ConfigError,
    ContextOverflow,
    ModelMissing,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
    NanobotError,
)
from nanobot.messages import EventKind
from nanobot.providers.base import ModelProfile
from nanobot.session.entries import FallbackEntry, ModelCallEntry, PromptEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import MemoryHome, Options
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from tests.agent.tooling import Recorder, bodies, kinds

SETTINGS = RunSettings(fallback_models=("test/second", "test/third"))


class Lineup(ScriptedProvider):
    """The configured model, and others by their labels."""

    def __init__(self, first: ScriptedProvider, **others: ScriptedProvider | NanobotError) -> None:
        super().__init__()
        self._first = first
        self._others = others

    async def pick(self, label: str | None = None) -> tuple[ScriptedProvider, ModelProfile]:
        chosen = self._first if label is None else self._others[label.removeprefix("test/")]
        if isinstance(chosen, NanobotError):
            raise chosen
        return chosen, chosen.profile("")


def model(name: str, *script: object, **can: Any) -> ScriptedProvider:
    profile = ModelProfile(name=name, provider="test", **can)
    return ScriptedProvider(*script, model=profile)  # type: ignore[arg-type]


def options(settings: RunSettings = SETTINGS, folder: Path = Path("/nonexistent")) -> Options:
    return Options(settings=settings, persona=PromptBuilder(folder))


@pytest.mark.parametrize(
    "error",
    [
        ModelUnreachable("nobody there"),
        ModelRefused("the key is refused"),
        ModelRateLimited("slow down", 3600),
        ModelMissing("not installed"),
    ],
)
async def test_the_next_model_answers_and_the_log_says_which_did(error: NanobotError) -> None:
    lineup = Lineup(model("first", error), second=model("second", "hi"), third=model("third"))
    async with gateway(lineup, options=options()) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "hi"
        await bot.settle()
        assert kinds(bot) == ["User", "Prompt", "ModelCall", "Fallback", "ModelCall", "Reply"]
        assert [call.profile.label for call in bodies(bot, ModelCallEntry)] == [
            "test/first",
            "test/second",
        ]
        (note,) = bodies(bot, FallbackEntry)
        assert note.text == str(error)


async def test_the_person_is_told_who_is_asked_now_and_why() -> None:
    lineup = Lineup(model("first", ModelRefused("no key")), second=model("second", "hi"))
    async with gateway(lineup, options=options()) as bot:
        watching = bot.bus.subscribe("fake:1", frozenset({EventKind.STATUS, EventKind.END}))
        await bot.channel.push("hello")
        payloads = []
        async for event in watching:
            if event.kind is EventKind.END:
                break
            payloads.append(event.payload)
        payloads = [payload for payload in payloads if payload["state"] == "fallback"]
        assert payloads == [{"state": "fallback", "model": "test/second", "why": "no key"}]


async def test_the_rest_of_a_run_stays_with_the_model_that_answers(recorder: Recorder) -> None:
    first = model("first", ModelUnreachable("down"))
    second = model("second", asks_for("exec", text="a"), asks_for("exec", text="b"), "done")
    async with gateway(
        Lineup(first, second=second), tools=[recorder.tool()], options=options()
    ) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "done"
        assert recorder.calls == ["exec a", "exec b"]
        assert len(first.requests) == 1
        await bot.channel.push("and now?")
        assert (await bot.channel.pop()).text == "echo: and now?"
        assert len(first.requests) == 2


async def test_a_crash_does_not_ask_the_failed_model_again(held: Held) -> None:
    first = model("first", ModelUnreachable("down"))
    second = model("second", held, "hi again")
    lineup = Lineup(first, second=second)
    async with MemoryHome() as home:
        async with gateway(lineup, home=home, options=options()) as bot:
            await bot.channel.push("hello")
            await held.reached.wait()
            bot.crash()
        async with gateway(lineup, home=home, options=options()) as bot:
            assert (await bot.channel.pop()).text == "hi again"
        assert len(first.requests) == 1


async def test_a_model_of_another_kind_gets_a_prompt_of_its_own(recorder: Recorder) -> None:
    small = model("second", "hi", tools=False, short_prompt=True)
    lineup = Lineup(model("first", ModelUnreachable("down")), second=small)
    async with gateway(lineup, tools=[recorder.tool()], options=options()) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "hi"
        prompts = bodies(bot, PromptEntry)
        assert [prompt.prompt_variant for prompt in prompts] == ["owner+private+tools", "short"]
        assert small.requests[0].tools == ()
        calls = bodies(bot, ModelCallEntry)
        assert [call.prompt for call in calls] == [prompt.digest for prompt in prompts]


async def test_a_fallback_that_is_misconfigured_is_passed_over() -> None:
    lineup = Lineup(
        model("first", ModelUnreachable("down")),
        second=ConfigError("second needs a key"),
        third=model("third", "hi"),
    )
    async with gateway(lineup, options=options()) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "hi"
        assert [note.text for note in bodies(bot, FallbackEntry)] == ["down", "second needs a key"]


async def test_when_all_fail_the_person_reads_why_of_each() -> None:
    lineup = Lineup(
        model("first", ModelUnreachable("First is down.")),
        second=model("second", ModelRefused("Second wants a key.")),
        third=model("third", ModelMissing("Third is missing.")),
    )
    async with gateway(lineup, options=options()) as bot:
        await bot.channel.push("hello")
        text = (await bot.channel.pop()).text
        assert text == ("I could not answer: First is down. Second wants a key. Third is missing.")


async def test_a_prompt_that_does_not_fit_is_cut_and_not_passed_on() -> None:
    first = model("first", ContextOverflow("too long"), "fits now")
    second = model("second")
    async with gateway(Lineup(first, second=second), options=options()) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "fits now"
        assert second.requests == []


async def test_an_answer_that_breaks_the_protocol_is_not_passed_on() -> None:
    second = model("second")
    lineup = Lineup(model("first", ModelProtocolError("odd")), second=second)
    async with gateway(lineup, options=options()) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "I could not answer: odd"
        assert second.requests == []


async def test_a_model_that_stays_silent_leaves_time_for_the_next() -> None:
    settings = RunSettings(limits=StepLimits(max_run_seconds=0.2), fallback_models=("test/second",))
    lineup = Lineup(model("first", Held()), second=model("second", "hi"))
    async with gateway(lineup, options=options(settings)) as bot:
        await bot.channel.push("hello")
        async with asyncio.timeout(10):
            assert (await bot.channel.pop()).text == "hi"
        (note,) = bodies(bot, FallbackEntry)
        assert "test/first was silent" in note.text


async def test_a_model_that_speaks_has_all_the_time_of_the_run() -> None:
    settings = RunSettings(limits=StepLimits(max_run_seconds=0.2), fallback_models=("test/second",))
    second = model("second")
    lineup = Lineup(model("first", Held("so far")), second=second)
    async with gateway(lineup, options=options(settings)) as bot:
        await bot.channel.push("hello")
        async with asyncio.timeout(10):
            assert "so far" in (await bot.channel.pop()).text
        assert second.requests == []
