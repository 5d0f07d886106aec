"""What every provider owes its callers, over every wire; see providers.base.LLMProvider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nanobot.errors import (
    ContextOverflow,
    ModelError,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from nanobot.plugins.litellm.loading import load_litellm
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    ImagePart,
    LLMProvider,
    Part,
    ReasoningDelta,
    Retrying,
    TextDelta,
    TextPart,
    ToolCall,
)
from nanobot.providers.retrying import CallPolicy
from nanobot.retries import Backoff
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Answer, Fault, OpenAIServer
from tests.providers.asking import KEY, LOOK
from tests.providers.wires import WIRES, Wire

POLICY = CallPolicy(backoff=Backoff(0.5, 16.0))

# litellm's own, in its code and in pydantic's about its types.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="session")
def litellm() -> None:
    load_litellm()


def each_wire() -> list[Any]:
    """The quick tests do without those of litellm: to load it takes 2 s of each worker."""
    late = pytest.mark.process
    return [pytest.param(one, id=one.name, marks=[late] * one.litellm) for one in WIRES]


@pytest.fixture(params=each_wire())
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    if chosen.litellm:
        request.getfixturevalue("litellm")
    return chosen


@pytest.fixture
async def server(wire: Wire) -> AsyncIterator[OpenAIServer]:
    async with wire.server() as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(
    wire: Wire, server: OpenAIServer, clock: ManualClock
) -> AsyncIterator[LLMProvider]:
    opened = wire.open(server, clock, POLICY)
    yield opened
    await opened.close()


async def all_of(provider: LLMProvider, wire: Wire, text: str) -> list[Delta]:
    return [delta async for delta in provider.chat_stream(wire.ask(text))]


async def test_deltas_come_first_and_exactly_one_completion_last(
    provider: LLMProvider, wire: Wire
) -> None:
    deltas = await all_of(provider, wire, "say:one two three")
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == ["one ", "two ", "three"]
    assert [type(d) for d in deltas].count(Completion) == 1
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.finish_reason, last.tool_calls) == ("one two three", "stop", ())


async def test_usage_is_counted_by_the_endpoint(provider: LLMProvider, wire: Wire) -> None:
    usage = (await provider.chat(wire.ask("say:one two three"))).usage
    assert usage is not None
    assert usage.prompt_tokens > 5
    assert usage.completion_tokens == (3 if wire.provider in ("acme", "openai") else 7)
    assert usage.cached_tokens == (5 if wire.provider == "gemini" else 0)


async def test_a_tool_is_called_and_its_result_goes_back(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    question = ChatMessage(role="user", content='tool:look:{"path": "a"}')
    first = await provider.chat(wire.ask(question, tools=(LOOK,)))
    assert first.finish_reason == "tool_calls"
    (call,) = first.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("look", {"path": "a"})
    history = (
        ChatMessage(role="system", content="Be brief."),
        question,
        ChatMessage(role="assistant", tool_calls=(call,)),
        ChatMessage(role="tool", content="what was seen", tool_call_id=call.id),
    )
    assert (await provider.chat(wire.ask(*history, tools=(LOOK,)))).text == "what was seen"
    assert "Be brief." in json.dumps(server.requests[1])


async def test_parallel_calls_keep_their_order_and_have_ids_of_their_own(
    provider: LLMProvider, wire: Wire
) -> None:
    request = wire.ask('tool:look:{"path": "a"}\ntool:find:{"path": "b"}', tools=(LOOK,))
    calls = (await provider.chat(request)).tool_calls
    assert [(c.name, json.loads(c.arguments)["path"]) for c in calls] == [
        ("look", "a"),
        ("find", "b"),
    ]
    assert len({call.id for call in calls}) == 2


async def test_calls_of_another_provider_are_taken_over(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    strange = "call_" + "x" * 80 + "__thought__c2ln="
    history = (
        ChatMessage(role="user", content="hello"),
        ChatMessage(role="assistant", tool_calls=(ToolCall(strange, "look up", '{"path": '),)),
        ChatMessage(role="tool", content="seen", tool_call_id=strange),
        ChatMessage(role="user", content="say:fine"),
    )
    assert (await provider.chat(wire.ask(*history, tools=(LOOK,)))).text == "fine"
    if wire.provider != "gemini":
        assert strange not in json.dumps(server.requests[0])


async def test_reasoning_beside_an_answer_stays_reasoning(
    provider: LLMProvider, wire: Wire
) -> None:
    deltas = await all_of(provider, wire, "think:hmm\nsay:yes")
    assert deltas[0] == ReasoningDelta("hmm")
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.reasoning) == ("yes", "hmm")


async def test_an_answer_in_the_reasoning_only_is_the_text(
    provider: LLMProvider, wire: Wire
) -> None:
    deltas = await all_of(provider, wire, "think:so it is")
    assert TextDelta("so it is") in deltas
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert (last.text, last.reasoning) == ("so it is", "")


async def test_an_empty_answer_is_handed_on(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    server.fail_with(Fault(answer=Answer()))
    answer = await provider.chat(wire.ask("hello"))
    assert (answer.text, answer.finish_reason) == ("", "stop")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_why_an_answer_stops_is_told(
    provider: LLMProvider, wire: Wire, server: OpenAIServer, reason: str
) -> None:
    server.fail_with(Fault(answer=Answer("half of", finish_reason=reason)))
    answer = await provider.chat(wire.ask("hello"))
    assert (answer.text, answer.finish_reason) == ("half of", reason)


async def test_images_reach_the_endpoint(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    picture = (TextPart("say:seen"), ImagePart("image/png", "QUJD"))
    answer = await provider.chat(wire.ask(ChatMessage(role="user", content=picture)))
    assert answer.text == "seen"
    assert "QUJD" in json.dumps(server.requests[0])


async def test_images_of_tool_results_reach_the_endpoint(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    def result(call: str, *images: str) -> ChatMessage:
        shown = [ImagePart("image/png", data) for data in images]
        parts: tuple[Part, ...] = (TextPart(f"seen by {call}"), *shown)
        return ChatMessage(role="tool", content=parts, tool_call_id=call)

    history = (
        ChatMessage(role="user", content="look at them"),
        ChatMessage(role="assistant", tool_calls=(ToolCall("a", "look", "{}"),)),
        result("a", "QUJD"),
        ChatMessage(
            role="assistant",
            tool_calls=(ToolCall("b", "look", "{}"), ToolCall("c", "look", '{"n": 1}')),
        ),
        result("b", "REVG", "R0hJ"),
        result("c", "SktM"),
        ChatMessage(role="user", content="say:seen"),
    )
    assert (await provider.chat(wire.ask(*history, tools=(LOOK,)))).text == "seen"
    sent = json.dumps(server.requests[0])
    places = [sent.index(image) for image in ("QUJD", "REVG", "R0hJ", "SktM")]
    assert places == sorted(places)
    if wire.images_in_results:
        return
    assert sent.count("[image 1, shown below]") == 2
    assert sent.index("[image 3 of the tool results above]") < places[3]


async def test_the_request_carries_key_temperature_and_limit(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    await provider.chat(wire.ask("say:x", temperature=0.25, max_tokens=321))
    assert KEY in json.dumps(server.headers[0])
    body = json.dumps(server.requests[0])
    assert "0.25" in body
    assert "321" in body


@pytest.mark.parametrize("kind", ["down", "busy", "event"])
async def test_passing_trouble_is_asked_again_after_a_growing_wait(
    provider: LLMProvider, wire: Wire, server: OpenAIServer, clock: ManualClock, kind: str
) -> None:
    server.fail_with(*[wire.refusals[kind]] * 2)
    deltas = await all_of(provider, wire, "say:fine")
    assert [d.delay for d in deltas if isinstance(d, Retrying)] == clock.sleeps == [0.5, 1.0]
    assert isinstance(deltas[-1], Completion)
    assert len(server.requests) == 3


async def test_trouble_to_the_end_is_unreachable(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    server.fail_with(*[wire.refusals["down"]] * 6)
    with pytest.raises(ModelUnreachable, match="boom"):
        await provider.chat(wire.ask("hello"))
    assert len(server.requests) == 6


async def test_a_wish_to_slow_down_is_obeyed(
    provider: LLMProvider, wire: Wire, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(wire.refusals["limit"])
    assert (await provider.chat(wire.ask("say:ok"))).text == "ok"
    assert clock.sleeps == [7.0]


async def test_a_wish_to_wait_for_an_hour_is_handed_on(
    provider: LLMProvider, wire: Wire, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(wire.refusals["hours"])
    with pytest.raises(ModelRateLimited) as caught:
        await provider.chat(wire.ask("hello"))
    assert caught.value.retry_after == 3600.0
    assert clock.sleeps == []


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("key", ModelRefused, "api_key"),
        ("quota", ModelRefused, "Add credit"),
        ("credit", ModelRefused, "Add credit"),
        ("model", ModelRefused, r"m-9.*agent\.model"),
        ("request", ModelRefused, "odd"),
        ("policy", ModelRefused, "policy"),
        ("overflow", ContextOverflow, "does not fit"),
        ("large", ContextOverflow, "does not fit"),
    ],
)
async def test_a_refusal_is_final_and_says_who_and_why(
    provider: LLMProvider,
    wire: Wire,
    server: OpenAIServer,
    kind: str,
    error: type[ModelError],
    words: str,
) -> None:
    server.fail_with(wire.refusals[kind])
    with pytest.raises(error, match=words) as caught:
        await provider.chat(wire.ask("hello"))
    message = str(caught.value)
    assert wire.model in message
    assert KEY not in message
    assert "litellm" not in message.lower()
    assert "{" not in message
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_half_way_is_asked_again(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    server.fail_with(Fault(cut_after=2))
    deltas = await all_of(provider, wire, "say:one two three")
    assert sum(isinstance(d, Retrying) for d in deltas) == 1
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert last.text == "one two three"


async def test_half_a_stream_is_no_answer(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    if not wire.tells_ends:
        pytest.skip("this wire's end cannot be told from a cut; see wires.Wire")
    await provider.chat(wire.ask("say:whole"))  # now it is known that this one tells its ends
    server.fail_with(*[wire.half(Answer("one two three four five six seven"))] * 6)
    with pytest.raises(ModelUnreachable, match="cut off half-way"):
        await provider.chat(wire.ask("hello"))
    assert len(server.requests) == 1 + POLICY.paid_attempts


async def test_what_cannot_be_read_is_asked_again_and_then_an_error(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    for fault in wire.broken:
        server.fail_with(fault)
        assert (await provider.chat(wire.ask("say:ok"))).text == "ok"
        # litellm passes over what it cannot read on some wires; then the answer has no end.
        server.fail_with(*[fault] * 6)
        with pytest.raises((ModelProtocolError, ModelUnreachable)):
            await provider.chat(wire.ask("hello"))
        server.faults.clear()


async def test_an_endless_stream_is_stopped(
    wire: Wire, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(Fault(endless=True, answer=Answer("again and again", reasoning="")))
    provider = wire.open(server, clock, CallPolicy(max_bytes=50_000, stall_seconds=0.2, attempts=1))
    with pytest.raises((ModelProtocolError, ModelUnreachable)):
        await provider.chat(wire.ask("hello"))
    assert len(server.requests) == 1
    await provider.close()


async def test_silence_is_asked_again_and_then_unreachable(
    wire: Wire, server: OpenAIServer, clock: ManualClock
) -> None:
    # A library that loads more of itself at its first call would spend the time on that.
    warm = wire.open(server, clock, POLICY)
    await warm.chat(wire.ask("say:warm"))
    await warm.close()
    server.requests.clear()
    server.fail_with(Fault(hang=True), Fault(hang_after=2))
    policy = CallPolicy(attempts=2, first_token_seconds=0.3, stall_seconds=0.1)
    provider = wire.open(server, clock, policy)
    with pytest.raises(ModelUnreachable, match="no answer in time"):
        await provider.chat(wire.ask("say:one two three"))
    assert len(server.requests) == 2
    await provider.close()


async def test_nobody_there_is_unreachable_and_says_where(
    wire: Wire, clock: ManualClock, unused_tcp_port: int
) -> None:
    gone = wire.server(port=unused_tcp_port)
    provider = wire.open(gone, clock, POLICY)
    with pytest.raises(ModelUnreachable, match=f"{unused_tcp_port}.*api_base"):
        await provider.chat(wire.ask("hello"))
    assert 0 < len(clock.sleeps) < POLICY.attempts
    await provider.close()


@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(hang_after=3)])
async def test_cancelling_closes_the_connection(
    provider: LLMProvider, wire: Wire, server: OpenAIServer, fault: Fault
) -> None:
    server.fail_with(fault)
    call = asyncio.ensure_future(provider.chat(wire.ask("say:one two three")))
    async with asyncio.timeout(10):
        await server.hung.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.client_left.wait()


async def test_leaving_the_stream_early_closes_the_connection(
    provider: LLMProvider, wire: Wire, server: OpenAIServer
) -> None:
    server.fail_with(Fault(hang_after=6 if wire.provider == "anthropic" else 3))
    stream = provider.chat_stream(wire.ask("say:one two three four five"))
    assert await anext(stream) == TextDelta("one ")
    await stream.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(10):
        await server.client_left.wait()
