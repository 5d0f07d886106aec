"""A model in trouble: people get the answer after all, or a clear word on why there is none."""

from __future__ import annotations

import pytest

from tests.doubles.openai_server import Answer, Fault, error_in_stream, error_status
from tests.process.harness import World
from tests.sampling import few

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(autouse=True)
def _fresh(shared: World) -> None:
    shared.model.requests.clear()


@pytest.mark.parametrize(
    "faults",
    few(
        [
            [error_status(500), error_status(503)],
            [error_status(429, retry_after="1")],
            [Fault(cut_after=2, answer=Answer("half an answer"))],
            [error_in_stream("overloaded", 503)],
            [Fault(raw=b"data: {not json}\n\n")],
            [Fault(raw=b"")],
        ],
        3,
    ),
    ids=["5xx", "429", "cut", "error-in-stream", "garbage", "nothing"],
)
async def test_a_model_that_recovers_gives_one_whole_answer(
    shared: World, chat: int, faults: list[Fault]
) -> None:
    shared.model.fail_with(*faults)
    shared.telegram.say(chat, "say:whole and only once")
    await shared.said(chat, "whole and only once")
    assert len(shared.model.requests) == len(faults) + 1


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (error_status(401, "invalid key"), "Check providers.test.api_key."),
        (error_status(404, "no such model"), "Check the model's name in agent.model"),
        (error_status(429, "insufficient_quota"), "Add credit with test"),
        (error_status(429, "slow", retry_after="3600"), "set agent.model to another model"),
    ],
    ids=["401", "404", "quota", "429-for-an-hour"],
)
async def test_a_model_that_refuses_is_told_with_a_remedy_and_the_chat_goes_on(
    shared: World, chat: int, fault: Fault, remedy: str
) -> None:
    shared.model.fail_with(fault)
    shared.telegram.say(chat, "say:never said")
    (text,) = await shared.answered(chat)
    assert text.startswith("I could not answer: test answered")
    assert remedy in text
    shared.telegram.say(chat, "say:but this")
    await shared.said(chat, text, "but this")


async def test_an_empty_answer_is_not_sent_as_silence(shared: World, chat: int) -> None:
    shared.model.fail_with(Fault(answer=Answer("")))
    shared.telegram.say(chat, "say:unused")
    (text,) = await shared.answered(chat)
    assert "empty answer" in text


async def test_an_answer_cut_at_the_token_limit_says_so(shared: World, chat: int) -> None:
    shared.model.fail_with(Fault(answer=Answer("as far as", finish_reason="length")))
    shared.telegram.say(chat, "say:unused")
    await shared.said(chat, "as far as\n\n(the answer was cut off at max_tokens)")


@pytest.mark.slow  # every retry takes its time
async def test_a_model_that_cannot_be_reached_is_told_with_what_to_check(
    shared: World, chat: int
) -> None:
    shared.telegram.say(chat, "/model dead/any --force")
    (changed,) = await shared.answered(chat)
    shared.telegram.say(chat, "say:never said")
    text = (await shared.answered(chat, 2))[1]
    assert text.startswith("I could not answer: dead did not answer at http://127.0.0.1:9/v1")
    assert "Check the network and providers.dead.api_base." in text
    shared.telegram.say(chat, "/model default")
    default = (await shared.answered(chat, 3))[2]
    shared.telegram.say(chat, "say:back")
    await shared.said(chat, changed, text, default, "back")
