"""The lean client against a scripted server, over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import (
    ConfigError,
    ContextOverflow,
    ModelProtocolError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    ImagePart,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    TextDelta,
    TextPart,
    ToolCall,
    ToolSpec,
    Usage,
    chat,
)
from nanobot.providers.openai_compat import CallPolicy, OpenAICompatProvider
from nanobot.providers.openai_stream import AnswerReader
from tests.doubles.clock import ManualClock
from tests.doubles.openai_server import (
    Answer,
    Fault,
    OpenAIServer,
    error_in_stream,
    error_status,
    events,
    plain_json,
    sse,
)

KEY = "sk-very-secret-0123456789"
LOOK = ToolSpec("look", "Look at a file.", {"type": "object", "properties": {}})


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(server: OpenAIServer, clock: ManualClock) -> AsyncIterator[OpenAICompatProvider]:
    opened = OpenAICompatProvider(
        "acme", server.base_url, KEY, clock=clock, policy=CallPolicy(jitter=lambda: 0.5)
    )
    yield opened
    await opened.close()


def ask(*said: str | ChatMessage, **more: Any) -> ModelRequest:
    messages = tuple(
        ChatMessage(role="user", content=one) if isinstance(one, str) else one for one in said
    )
    return ModelRequest(model="m-1", messages=messages, **more)


async def everything(provider: OpenAICompatProvider, request: ModelRequest) -> list[Delta]:
    return [delta async for delta in provider.chat_stream(request)]


async def test_the_answer_streams_and_ends_with_one_completion(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    deltas = await everything(provider, ask("say:one two three"))
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == ["one ", "two ", "three"]
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert last.text == "one two three"
    assert last.finish_reason == "stop"
    assert last.usage is not None
    assert last.usage.prompt_tokens > 0
    assert server.requests[0]["stream_options"] == {"include_usage": True}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_parallel_tool_calls_come_back_in_order(provider: OpenAICompatProvider) -> None:
    request = ask('tool:look:{"path": "a"}\ntool:look:{"path": "b"}', tools=(LOOK,))
    answer = await chat(provider, request)
    assert answer.finish_reason == "tool_calls"
    assert answer.tool_calls == (
        ToolCall("call_s0", "look", '{"path": "a"}'),
        ToolCall("call_s1", "look", '{"path": "b"}'),
    )


async def test_two_failures_are_followed_by_an_answer_within_three_seconds(
    provider: OpenAICompatProvider, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(error_status(500), error_status(500))
    deltas = await everything(provider, ask("say:fine"))
    assert [d.delay for d in deltas if isinstance(d, Retrying)] == clock.sleeps == [0.5, 1.0]
    assert isinstance(deltas[-1], Completion)


@pytest.mark.parametrize("jitter", [0.0, 1.0])
async def test_backoff_doubles_to_its_limit_and_then_gives_up(
    server: OpenAIServer, clock: ManualClock, jitter: float
) -> None:
    server.fail_with(*[error_status(503, "overloaded")] * 8)
    policy = CallPolicy(jitter=lambda: jitter, attempts=8)
    provider = OpenAICompatProvider("acme", server.base_url, clock=clock, policy=policy)
    with pytest.raises(ModelUnreachable, match="acme answered 503 for m-1: overloaded"):
        await everything(provider, ask("hello"))
    factor = 0.75 + 0.5 * jitter
    assert clock.sleeps == [s * factor for s in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 16.0)]
    await provider.close()


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 529])
async def test_a_passing_failure_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int
) -> None:
    server.fail_with(error_status(status))
    assert (await chat(provider, ask("say:ok"))).text == "ok"
    assert len(server.requests) == 2


async def test_a_stream_cut_half_way_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(cut_after=2))
    deltas = await everything(provider, ask("say:one two"))
    kinds = [type(delta) for delta in deltas]
    assert kinds.index(Retrying) < kinds.index(Completion)
    assert deltas[-1] == Completion(text="one two", usage=deltas[-1].usage)  # type: ignore[union-attr]


async def test_a_stream_that_just_ends_was_cut(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    half = sse(events(Answer("one two"))[:2], done=False)
    server.fail_with(*[Fault(raw=half)] * 6)
    with pytest.raises(ModelUnreachable, match="cut off"):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 6


async def test_a_finish_reason_is_an_end_even_without_done(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(raw=sse(events(Answer("whole")), done=False)))
    assert (await chat(provider, ask("hello"))).text == "whole"
    assert len(server.requests) == 1


async def test_a_server_that_lingers_after_its_end_is_not_waited_for(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    whole = len(events(Answer("a b"), usage={}))
    server.fail_with(Fault(answer=Answer("a b"), hang_after=whole - 1))
    policy = CallPolicy(stall_seconds=0.05)
    impatient = OpenAICompatProvider("acme", server.base_url, clock=ManualClock(), policy=policy)
    assert (await chat(impatient, ask("hello"))).text == "a b"
    assert len(server.requests) == 1
    await impatient.close()


async def test_silence_is_asked_again_and_then_unreachable(server: OpenAIServer) -> None:
    server.fail_with(Fault(hang=True), Fault(hang_after=2), Fault(hang_after=1))
    policy = CallPolicy(attempts=3, first_byte_seconds=0.05, stall_seconds=0.05)
    provider = OpenAICompatProvider("acme", server.base_url, clock=ManualClock(), policy=policy)
    with pytest.raises(ModelUnreachable, match="no answer in time"):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 3
    await provider.close()


async def test_no_server_at_all_is_unreachable_and_names_the_setting(
    unused_tcp_port: int, clock: ManualClock
) -> None:
    base = f"http://127.0.0.1:{unused_tcp_port}/v1"
    provider = OpenAICompatProvider("acme", base, clock=clock)
    with pytest.raises(ModelUnreachable, match=r"providers\.acme\.api_base"):
        await chat(provider, ask("hello"))
    assert len(clock.sleeps) == 5
    await provider.close()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "7.5"}, 7.5),
        ({"retry_after_ms": "2500"}, 2.5),
        (
            {
                "retry_after": format_datetime(
                    datetime.fromtimestamp(1_800_000_009, UTC), usegmt=True
                )
            },
            9.0,
        ),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "-3"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
    ],
)
async def test_retry_after_is_obeyed(
    provider: OpenAICompatProvider,
    server: OpenAIServer,
    clock: ManualClock,
    header: dict[str, str],
    seconds: float,
) -> None:
    server.fail_with(error_status(429, "slow down", None, **header))
    await chat(provider, ask("hello"))
    assert clock.sleeps == [seconds]


async def test_a_wish_to_wait_longer_than_a_minute_is_handed_on(
    provider: OpenAICompatProvider, server: OpenAIServer, clock: ManualClock
) -> None:
    server.fail_with(error_status(429, "slow down", None, retry_after="3600"))
    with pytest.raises(ModelRateLimited) as caught:
        await chat(provider, ask("hello"))
    assert caught.value.retry_after == 3600.0
    assert clock.sleeps == []


async def test_rate_limits_to_the_end_say_so(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(*[error_status(429, "slow down", None, retry_after="2")] * 6)
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        await chat(provider, ask("hello"))
    assert caught.value.retry_after == 2.0


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, None, "report this"),
        (401, "invalid_api_key", r"providers\.acme\.api_key"),
        (403, None, r"providers\.acme\.api_key"),
        (402, None, "Add credit"),
        (404, "model_not_found", r"agent\.model"),
        (429, "insufficient_quota", "Add credit"),
        (308, None, "has moved"),
    ],
)
async def test_a_refusal_is_final_and_says_who_why_and_what_to_do(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int, code: str | None, words: str
) -> None:
    server.fail_with(error_status(status, f"I dislike {KEY} very much. " + "x" * 900, code))
    with pytest.raises(ModelRefused, match=words) as caught:
        await chat(provider, ask("hello"))
    message = str(caught.value)
    assert f"acme answered {status}" in message
    assert "I dislike [key] very much." in message
    assert KEY not in message
    assert len(message) < 600
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "request (4031 tokens) exceeds the available context size (2048 tokens)"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
        (400, "Please reduce the length of the messages or completion."),
        (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000"),
        (413, "payload too large"),
        (500, "the prompt is larger than the context window"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_an_overflow(
    provider: OpenAICompatProvider, server: OpenAIServer, status: int, text: str
) -> None:
    server.fail_with(error_status(status, text))
    with pytest.raises(ContextOverflow):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"error": "bare words"}',
        '[{"error": {"message": "bare words"}}]',
        "<p>bare words</p>",
        '{"object": "error", "message": "bare words"}',
        '{"detail": "bare words"}',
        "bare words",
    ],
)
async def test_errors_of_every_shape_are_quoted(
    provider: OpenAICompatProvider, server: OpenAIServer, body: str
) -> None:
    server.fail_with(Fault(status=400, body=body))
    with pytest.raises(ModelRefused, match=r"for m-1: bare words Asking"):
        await chat(provider, ask("hello"))


async def test_an_error_object_in_the_stream_is_asked_again(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(error_in_stream("upstream died", 502), error_in_stream("odd"))
    assert (await chat(provider, ask("say:ok"))).text == "ok"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("message", "code", "error"),
    [
        ("no such key", 401, ModelRefused),
        ("no such key", "invalid_api_key", ModelRefused),
        ("too long", "context_length_exceeded", ContextOverflow),
        ("pay", "insufficient_quota", ModelRefused),
    ],
)
async def test_a_final_error_object_in_the_stream_is_final(
    provider: OpenAICompatProvider,
    server: OpenAIServer,
    message: str,
    code: int | str,
    error: type[Exception],
) -> None:
    server.fail_with(error_in_stream(message, code))
    with pytest.raises(error):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>hello</html>",
        b"data: {broken\n\n",
        b'{"choices": [',
        b'{"id": "x"}',
        b'data: {"choices": 7}\n\ndata: [DONE]\n\n',
        b'data: {"choices": [{"delta": {"content": 7.5, "tool_calls": "x"}}]}\n\n',
        b"data: " + b"[" * 5_000 + b"\n\n",
    ],
)
async def test_what_is_no_answer_is_asked_again_and_then_a_protocol_error(
    provider: OpenAICompatProvider, server: OpenAIServer, raw: bytes
) -> None:
    server.fail_with(*[Fault(raw=raw)] * 3)
    with pytest.raises(ModelProtocolError, match=r"providers\.acme\.api_base"):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 3


async def test_an_endless_stream_is_stopped(server: OpenAIServer, clock: ManualClock) -> None:
    server.fail_with(Fault(endless=True))
    policy = CallPolicy(max_bytes=1_000_000)
    provider = OpenAICompatProvider("acme", server.base_url, clock=clock, policy=policy)
    with pytest.raises(ModelProtocolError, match="1000000 bytes"):
        await chat(provider, ask("hello"))
    assert len(server.requests) == 1
    await provider.close()


async def test_plain_json_is_read_although_a_stream_was_asked_for(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(plain_json(Answer("all at once", tool_calls=[("look", '{"a":1}')])))
    deltas = await everything(provider, ask("hello"))
    assert deltas[0] == TextDelta("all at once")
    last = deltas[-1]
    assert isinstance(last, Completion)
    assert last.tool_calls == (ToolCall("call_s0", "look", '{"a":1}'),)


async def test_an_error_as_plain_json_with_status_200_is_an_error(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(raw=b'{"object": "error", "message": "model x not found"}'))
    with pytest.raises(ModelRefused, match="model x not found"):
        await chat(provider, ask("hello"))


async def test_an_answer_in_the_reasoning_field_only_is_the_text(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    deltas = await everything(provider, ask("think:so it is"))
    assert deltas[:2] == [ReasoningDelta("so it is"), TextDelta("so it is")]
    assert isinstance(deltas[-1], Completion)
    assert (deltas[-1].text, deltas[-1].reasoning) == ("so it is", "")


async def test_reasoning_beside_an_answer_stays_reasoning(provider: OpenAICompatProvider) -> None:
    answer = await chat(provider, ask("think:hmm\nsay:yes"))
    assert (answer.text, answer.reasoning) == ("yes", "hmm")


async def test_an_empty_answer_is_handed_on(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(answer=Answer()))
    answer = await chat(provider, ask("hello"))
    assert (answer.text, answer.finish_reason) == ("", "stop")


async def test_cancelling_closes_the_connection(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(hang_after=2))
    call = asyncio.ensure_future(chat(provider, ask("say:one two")))
    async with asyncio.timeout(10):
        await server.hung.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.client_left.wait()


async def test_leaving_the_stream_early_closes_the_connection(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(hang_after=3))
    stream = provider.chat_stream(ask("say:one two"))
    assert await anext(stream) == TextDelta("one ")
    await stream.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(10):
        await server.client_left.wait()


async def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    first = (ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="a"))
    await chat(provider, ask(*first, tools=(LOOK,)))
    more = (ChatMessage(role="assistant", content="b"), ChatMessage(role="user", content="c"))
    await chat(provider, ask(*first, *more, tools=(LOOK,)))
    await chat(provider, ask(*first, tools=(LOOK,)))
    short, long, again = server.raw_requests
    assert short == again
    shared = short.split(b'],"model"')[0]
    assert b"messages" in shared
    assert long.startswith(shared)


async def test_the_conversation_is_sent_as_the_protocol_wants_it(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    broken = (ToolCall("c1", "look up", '{"path": '), ToolCall("c2", "look", '{"z": 1, "a": 2}'))
    await chat(
        provider,
        ask(
            ChatMessage(role="system", content="S"),
            ChatMessage(role="user", content=(TextPart("see"), ImagePart("image/png", "QUJD"))),
            ChatMessage(role="assistant", tool_calls=broken),
            ChatMessage(role="tool", content="no", tool_call_id="c1"),
            ChatMessage(role="tool", content=(TextPart("x"), TextPart("y")), tool_call_id="c2"),
            "half an emoji: \ud83d",
            tools=(LOOK,),
        ),
    )
    body = server.requests[0]
    assert body["messages"] == [
        {"role": "system", "content": "S"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": "{}"},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"z": 1, "a": 2}'},
                },
            ],
        },
        {"role": "tool", "content": "no", "tool_call_id": "c1"},
        {"role": "tool", "content": "x\ny", "tool_call_id": "c2"},
        {"role": "user", "content": "half an emoji: ?"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Look at a file.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]


@pytest.mark.parametrize(
    ("text", "gone", "instead"),
    [
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        ("Unsupported value: 'temperature' does not support 0.7", "temperature", "model"),
        ("Extra inputs are not permitted: stream_options", "stream_options", "model"),
        ("registry/library/m-1 does not support tools", "tools", "model"),
    ],
)
async def test_a_parameter_that_the_endpoint_refuses_is_left_out_from_then_on(
    provider: OpenAICompatProvider, server: OpenAIServer, text: str, gone: str, instead: str
) -> None:
    server.fail_with(error_status(400, text))
    for _ in range(2):
        assert (await chat(provider, ask("say:ok", tools=(LOOK,)))).text == "ok"
    assert gone in server.requests[0]
    assert [gone in body for body in server.requests[1:]] == [False, False]
    assert instead in server.requests[1]
    assert provider.profile("m-1").tools == (gone != "tools")


async def test_a_refusal_that_stays_ends_the_call(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(*[error_status(400, "temperature is not supported")] * 2)
    with pytest.raises(ModelRefused):
        await chat(provider, ask("hello"))


@pytest.mark.parametrize(
    "base", ["", "example.com/v1", "ftp://x/v1", "http://", "http://x:99999999"]
)
def test_an_address_that_cannot_work_is_refused_at_once(clock: ManualClock, base: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.acme\.api_base"):
        OpenAICompatProvider("acme", base, clock=clock)


def test_a_key_that_cannot_work_is_refused_without_showing_it(clock: ManualClock) -> None:
    with pytest.raises(ConfigError, match=r"providers\.acme\.api_key") as caught:
        OpenAICompatProvider("acme", "https://x/v1", "sk-…oops\n1", clock=clock)
    assert "oops" not in str(caught.value)


def read(*pieces: bytes) -> Completion:
    reader = AnswerReader()
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    assert reader.complete
    return reader.completion()


def calls(*fragments: dict[str, Any]) -> tuple[ToolCall, ...]:
    stream = [{"choices": [{"delta": {"tool_calls": [fragment]}}]} for fragment in fragments]
    return read(sse([*stream, {"choices": [{"finish_reason": "stop"}]}])).tool_calls


def test_calls_without_ids_get_one() -> None:
    found = calls(
        {"index": 0, "function": {"name": "a", "arguments": "{"}},
        {"index": 0, "function": {"arguments": "}"}},
        {"index": 1, "function": {"name": "b", "arguments": {"x": 1}}},
        {"index": 2, "id": "", "function": {"name": "c"}},
    )
    assert found == (
        ToolCall("call_0", "a", "{}"),
        ToolCall("call_1", "b", '{"x":1}'),
        ToolCall("call_2", "c", "{}"),
    )


def test_parallel_calls_that_all_claim_index_zero_stay_apart() -> None:
    found = calls(
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": "{}"}},
        {"index": 0, "id": "y", "function": {"name": "b", "arguments": "{}"}},
    )
    assert [call.name for call in found] == ["a", "b"]


def test_calls_without_an_index_are_told_apart_by_their_names() -> None:
    found = calls(
        {"function": {"name": "a", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"function": {"name": "a", "arguments": '{"n":2}'}},
    )
    assert [call.arguments for call in found] == ["{}", '{"n":2}']


def test_an_id_repeated_with_every_fragment_is_one_call() -> None:
    found = calls(
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": '{"n"'}},
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": ":1}"}},
    )
    assert found == (ToolCall("x", "a", '{"n":1}'),)


def test_the_old_function_call_is_a_tool_call() -> None:
    call = {"name": "a", "arguments": "{}"}
    stream: list[dict[str, Any]] = [
        {"choices": [{"delta": {"function_call": call}}]},
        {"choices": [{"delta": {}, "finish_reason": "function_call"}]},
    ]
    answer = read(sse(stream))
    assert answer.tool_calls == (ToolCall("call_0", "a", "{}"),)
    assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("eos", "stop"),
        ("SAFETY", "content_filter"),
        ("tool_calls", "stop"),
    ],
)
def test_reasons_to_finish_are_made_one_of_four(said: str, meant: str) -> None:
    assert read(sse(events(Answer("x", finish_reason=said)))).finish_reason == meant


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 5}}, 5),
        ({"prompt_cache_hit_tokens": 6}, 6),
        ({"prompt_tokens_details": None}, 0),
    ],
)
def test_cached_tokens_are_found_where_providers_put_them(
    usage: dict[str, Any], cached: int
) -> None:
    counted = {"prompt_tokens": 9, "completion_tokens": 2, **usage}
    answer = read(sse(events(Answer("x"), usage=counted)))
    assert answer.usage == Usage(9, 2, cached)


def test_half_an_emoji_in_the_stream_does_not_end_the_call() -> None:
    raw = b'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n'
    assert read(raw).text == "a?"


WHOLE = sse(
    events(
        Answer(
            "grüße 👋 and more",
            reasoning="hmm…",
            tool_calls=[("look", '{"path": "ü"}'), ("look", "{}")],
        ),
        usage={"prompt_tokens": 3, "completion_tokens": 4},
    )
)
STREAMS = [
    WHOLE,
    WHOLE.replace(b"\n", b"\r\n"),
    b": ping\n\n" + WHOLE.replace(b"data: ", b"event: message\ndata:"),
    WHOLE.replace(b"\n\n", b"\n"),
    b"\xef\xbb\xbf" + WHOLE.replace(b'"choices"', b'\ndata: "choices"'),
]


@given(which=st.sampled_from(STREAMS), cuts=st.lists(st.integers(0, max(map(len, STREAMS)))))
def test_however_the_bytes_are_cut_the_completion_is_the_same(
    which: bytes, cuts: list[int]
) -> None:
    edges = [0, *sorted(cuts), len(which)]
    pieces = [which[a:b] for a, b in pairwise(edges)]
    assert read(*pieces) == read(WHOLE)


@given(text=st.text(), reasoning=st.text(), arguments=st.dictionaries(st.text(), st.integers()))
def test_whatever_was_said_is_what_is_read(
    text: str, reasoning: str, arguments: dict[str, int]
) -> None:
    said = Answer(text, reasoning, [("look", json.dumps(arguments))])
    answer = read(sse(events(said)))
    assert (answer.text, answer.reasoning) == (text, reasoning)
    assert json.loads(answer.tool_calls[0].arguments) == arguments
