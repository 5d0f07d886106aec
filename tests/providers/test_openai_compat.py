"""The lean client against a scripted server, over a real socket."""

from __future__ import annotations

import asyncio
import gc
from itertools import product

import msgspec
import pytest

from nanobot.errors import ConfigError, ModelRefused
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    ImagePart,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TextPart,
    ToolCall,
    ToolSpec,
)
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, Written, encode_request
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import (
    Answer,
    Fault,
    OpenAIServer,
    error_status,
    plain_json,
)
from tests.providers.asking import KEY, LOOK, ask, everything


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
    answer = await provider.chat(request)
    assert answer.finish_reason == "tool_calls"
    assert answer.tool_calls == (
        ToolCall("call_s0", "look", '{"path": "a"}'),
        ToolCall("call_s1", "look", '{"path": "b"}'),
    )


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
        await provider.chat(ask("hello"))


async def test_an_answer_in_the_reasoning_field_only_is_the_text(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    deltas = await everything(provider, ask("think:so it is"))
    assert deltas[:2] == [ReasoningDelta("so it is"), TextDelta("so it is")]
    assert isinstance(deltas[-1], Completion)
    assert (deltas[-1].text, deltas[-1].reasoning) == ("so it is", "")


async def test_reasoning_beside_an_answer_stays_reasoning(provider: OpenAICompatProvider) -> None:
    answer = await provider.chat(ask("think:hmm\nsay:yes"))
    assert (answer.text, answer.reasoning) == ("yes", "hmm")


async def test_an_empty_answer_is_handed_on(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(answer=Answer()))
    answer = await provider.chat(ask("hello"))
    assert (answer.text, answer.finish_reason) == ("", "stop")


async def test_cancelling_closes_the_connection(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(hang_after=2))
    call = asyncio.ensure_future(provider.chat(ask("say:one two")))
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
    await provider.chat(ask(*first, tools=(LOOK,)))
    more = (ChatMessage(role="assistant", content="b"), ChatMessage(role="user", content="c"))
    await provider.chat(ask(*first, *more, tools=(LOOK,)))
    await provider.chat(ask(*first, tools=(LOOK,)))
    short, long, again = server.raw_requests
    assert short == again
    shared = short.split(b'],"model"')[0]
    assert b"messages" in shared
    assert long.startswith(shared)


async def test_the_conversation_is_sent_as_the_protocol_wants_it(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    broken = (ToolCall("c1", "look up", '{"path": '), ToolCall("c2", "look", '{"z": 1, "a": 2}'))
    await provider.chat(
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
        assert (await provider.chat(ask("say:ok", tools=(LOOK,)))).text == "ok"
    assert gone in server.requests[0]
    assert [gone in body for body in server.requests[1:]] == [False, False]
    assert instead in server.requests[1]
    assert provider.profile("m-1").tools == (gone != "tools")


async def test_a_refusal_that_stays_ends_the_call(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(*[error_status(400, "temperature is not supported")] * 2)
    with pytest.raises(ModelRefused):
        await provider.chat(ask("hello"))


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


def test_a_request_has_the_same_bytes_whatever_was_written_before() -> None:
    written, native, kept = Written(), Quirks(own_ids=True), Quirks(anthropic_cache=True)
    calls = (ToolCall("an id / of another", "look", '{"at": 1}'), ToolCall("b", "lo ok", "no"))
    messages = (
        ChatMessage(role="system", content="You help."),
        ChatMessage(role="user", content="hello"),
        ChatMessage(role="assistant", content="", tool_calls=calls),
        ChatMessage(role="tool", content="seen", tool_call_id="an id / of another"),
        ChatMessage(role="tool", content="seen \ud800", tool_call_id="b"),
    )
    tools = (ToolSpec("look", "Looks.", {"type": "object", "a": 1}),)
    strange = (ToolSpec("look", "Looks. \ud800", {"type": "object"}),)
    every = product(range(len(messages)), ((), tools, strange, tools), (native, kept, Quirks()))
    for last, given, quirks in every:
        part = messages[: last + 1]
        request = ModelRequest(model="claude", messages=part, tools=given, max_tokens=9)
        assert encode_request(request, quirks, written) == encode_request(request, quirks)


def test_a_message_of_an_earlier_request_is_written_once() -> None:
    written, quirks = Written(), Quirks()
    call = ToolCall("a", "look", '{"at": 1}')
    messages = (
        ChatMessage(role="system", content="You help."),
        ChatMessage(role="user", content="hello"),
        ChatMessage(role="assistant", content="", tool_calls=(call,)),
        ChatMessage(role="tool", content="seen", tool_call_id="a"),
    )
    first = written.messages(messages[:3], quirks)
    # Of a conversation that was summed up, the summary comes first, and is made for each request.
    begin = ChatMessage(role="system", content="You help."), msgspec.structs.replace(messages[1])
    again = written.messages((*begin, *messages[2:]), quirks)
    assert [a is b for a, b in zip(first, again, strict=False)] == [True] * 3
    other = written.messages(
        (ChatMessage(role="system", content="You run."), *messages[1:]), quirks
    )
    assert other[0] is not first[0]
    assert other[0].content == "You run."


def test_pictures_are_not_kept_and_what_is_before_them_is() -> None:
    """They are megabytes, and sixteen conversations are kept."""
    written, quirks = Written(), Quirks()
    picture = ChatMessage(
        role="user", content=(TextPart("look"), ImagePart(mime="image/png", data="A" * 9_000))
    )
    messages = (
        ChatMessage(role="system", content="You help."),
        ChatMessage(role="user", content="hello"),
        picture,
        ChatMessage(role="assistant", content="seen"),
    )
    first = written.messages(messages, quirks)
    again = written.messages(messages, quirks)
    assert first == again
    assert [a is b for a, b in zip(first, again, strict=True)] == [True, True, False, False]
    for beginning in (messages, messages[2:]):
        written = Written()
        written.messages(beginning, quirks)
        assert not [each for each in held_by(written) if "A" * 9_000 in each]


def held_by(thing: object) -> list[str]:
    """All texts that can be reached from it."""
    found, todo, seen = list[str](), [thing], set[int]()
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            found.append(each)
        elif not (isinstance(each, type) or callable(each) or id(each) in seen):
            seen.add(id(each))
            todo += gc.get_referents(each)
    return found


def test_a_request_without_messages_is_written() -> None:
    request = ModelRequest(model="m", messages=())
    assert msgspec.json.decode(encode_request(request, Quirks()))["messages"] == []


def test_only_the_latest_conversations_are_kept() -> None:
    written = Written()
    system = ChatMessage(role="system", content="You help.")
    for number in range(20):
        written.messages((system, ChatMessage(role="user", content=f"word{number}")), Quirks())
    kept = {each for each in held_by(written) if each.startswith("word")}
    assert kept == {f"word{number}" for number in range(4, 20)}
