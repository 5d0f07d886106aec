"""Endpoints that think between tool calls want their thoughts back with the calls: DeepSeek and
Moonshot refuse the request without them (https://api-docs.deepseek.com/guides/thinking_mode).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ModelRefused
from nanobot.providers.base import ChatMessage, Completion, NativeAnswer, ToolCall
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.providers.openai_request import Quirks, Written, encode_request
from nanobot.providers.openai_stream import AnswerReader
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Answer, Fault, OpenAIServer, error_status, sse
from tests.providers.asking import LOOK, ask

WORDS = (
    "Missing `reasoning_content` field in the assistant message at message index 2. For more "
    "information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index"
    " 2",
)

JSON: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.just([{}])
)


class Thinker(OpenAIServer):
    """It thinks, calls a tool, and refuses what lacks its thoughts."""

    words = WORDS[0]

    def refusal_of(self, body: dict[str, Any]) -> Fault | None:
        for message in self.conversation(body):
            if message["role"] == "assistant" and "reasoning_content" not in message:
                return error_status(400, self.words)
        return super().refusal_of(body)


def look(_: dict[str, Any]) -> Answer:
    return Answer(text="", reasoning="I should look.", tool_calls=(("look", "{}"),))


@pytest.fixture
async def thinker() -> AsyncIterator[Thinker]:
    async with Thinker(look) as running:
        yield running


def opened(server: OpenAIServer) -> OpenAICompatProvider:
    return OpenAICompatProvider("acme", server.base_url, "", clock=ManualClock())


def after(answer: Completion) -> tuple[ChatMessage, ...]:
    """The messages of the next call."""
    (call,) = answer.tool_calls
    said = ChatMessage(
        role="assistant",
        content=answer.text,
        tool_calls=answer.tool_calls,
        native=answer.native,
    )
    result = ChatMessage(role="tool", content="a cat", tool_call_id=call.id)
    return (ChatMessage(role="user", content="What is there?"), said, result)


@pytest.mark.parametrize("words", WORDS)
async def test_an_endpoint_that_wants_its_thoughts_back_gets_them(
    thinker: Thinker, words: str
) -> None:
    thinker.words = words
    provider = opened(thinker)
    first = await provider.chat(ask("What is there?", tools=(LOOK,)))
    # It says so now: of what was answered before, the thoughts are not known.
    second = await provider.chat(ask(*after(first), tools=(LOOK,)))
    third = await provider.chat(ask(*after(first), *after(second)[1:], tools=(LOOK,)))
    assert third.tool_calls
    sent = [message.get("reasoning_content") for message in thinker.conversation(last(thinker))]
    assert sent == [None, "", None, "I should look.", None]
    assert len(thinker.requests) == 4, "only the first was refused"
    await provider.close()


def last(server: OpenAIServer) -> dict[str, Any]:
    return server.requests[-1]


async def test_an_endpoint_that_still_refuses_ends_the_call(thinker: Thinker) -> None:
    provider = opened(thinker)
    first = await provider.chat(ask("What is there?", tools=(LOOK,)))
    thinker.fail_with(*[error_status(400, WORDS[1])] * 3)
    with pytest.raises(ModelRefused):
        await provider.chat(ask(*after(first), tools=(LOOK,)))
    await provider.close()


@pytest.mark.parametrize("base", ["https://api.deepseek.com", "https://api.moonshot.cn/v1"])
def test_of_known_endpoints_it_is_known_before_the_first_call(base: str) -> None:
    provider = OpenAICompatProvider("acme", base, "", clock=ManualClock())
    assert provider._quirks_of("m-1").thoughts


async def test_other_endpoints_neither_get_nor_keep_thoughts(server: OpenAIServer) -> None:
    server.script = look
    provider = opened(server)
    first = await provider.chat(ask("What is there?", tools=(LOOK,)))
    assert first.native is None
    await provider.chat(ask(*after(first), tools=(LOOK,)))
    assert all("reasoning_content" not in message for message in last(server)["messages"])
    await provider.close()


def test_what_was_written_without_thoughts_is_written_again_with_them() -> None:
    written = Written()
    said = ChatMessage(role="assistant", content="yes")
    request = ask("hi", said, "go on")
    for thoughts in (False, True, False):
        quirks = Quirks(thoughts=thoughts)
        assert encode_request(request, quirks, written) == encode_request(request, quirks)
        assert (b"reasoning_content" in encode_request(request, quirks)) is thoughts


DETAILS: list[dict[str, Any]] = [
    {"type": "reasoning.text", "index": 0, "text": "I should", "format": "x"},
    {"type": "reasoning.text", "index": 0, "text": " look."},
    {"type": "reasoning.text", "index": 0, "text": "", "signature": "sig"},
    {"type": "reasoning.encrypted", "index": 1, "id": "tool.1", "data": "AAAA"},
    {"type": "reasoning.encrypted", "index": 1, "id": "tool.2", "data": "BBBB"},
    {"type": "reasoning.summary", "index": 2, "summary": "So."},
]
WHOLE: list[dict[str, Any]] = [
    {"type": "reasoning.text", "index": 0, "text": "I should look.", "format": "x"}
    | {"signature": "sig"},
    *DETAILS[3:],
]
SIGNED = {"google": {"thought_signature": "CCCC"}}


def signed(*, whole: bool) -> Fault:
    """Two calls with signatures, as OpenRouter and Google's compatible address give them."""
    calls: list[dict[str, Any]] = [
        {"index": 0, "id": "tool.1", "function": {"name": "look", "arguments": "{}"}},
        {"index": 1, "id": "tool.2", "function": {"name": "look", "arguments": "{}"}},
    ]
    calls[0]["extra_content"] = SIGNED
    deltas: list[dict[str, Any]] = [{"reasoning_details": [detail]} for detail in DETAILS]
    message = {"reasoning_details": WHOLE, "tool_calls": calls}
    if whole:
        return Fault(raw=json.dumps({"choices": [{"message": message}]}).encode())
    events = [{"choices": [{"delta": delta}]} for delta in [*deltas, {"tool_calls": calls}]]
    return Fault(raw=sse([*events, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]))


@pytest.mark.parametrize("whole", [False, True])
async def test_signatures_of_thoughts_go_back_with_their_calls(
    server: OpenAIServer, *, whole: bool
) -> None:
    provider = opened(server)
    server.fail_with(signed(whole=whole))
    answer = await provider.chat(ask("What is there?", tools=(LOOK,)))
    said = ChatMessage(role="assistant", tool_calls=answer.tool_calls, native=answer.native)
    results = [ChatMessage(role="tool", content="x", tool_call_id=c.id) for c in answer.tool_calls]
    await provider.chat(ask("What is there?", said, *results, tools=(LOOK,)))
    sent = last(server)["messages"][1]
    first, second = (call["id"] for call in sent["tool_calls"])
    wanted = [dict(detail) for detail in WHOLE]
    wanted[1]["id"], wanted[2]["id"] = first, second
    assert sent["reasoning_details"] == wanted
    assert [call.get("extra_content") for call in sent["tool_calls"]] == [SIGNED, None]
    assert [message["tool_call_id"] for message in last(server)["messages"][2:]] == [first, second]
    # Another model cannot read them.
    other = msgspec.structs.replace(ask("Again", said, *results), model="m-2")
    await provider.chat(other)
    assert "reasoning_details" not in last(server)["messages"][1]
    await provider.close()


@pytest.mark.parametrize("native", ["", "[]", "5", '{"reasoning_details": 5}', "[{}]"])
def test_a_native_form_of_another_api_is_not_sent(native: str) -> None:
    call = ToolCall("c", "look", "{}")
    said = ChatMessage(role="assistant", tool_calls=(call,), native=NativeAnswer("m-1", native))
    plain = msgspec.structs.replace(said, native=None)
    assert encode_request(ask(said), Quirks()) == encode_request(ask(plain), Quirks())


@given(st.lists(st.dictionaries(st.sampled_from(["type", "index", "text", "id", "data"]), JSON)))
def test_whatever_the_details_are_the_calls_arrive(details: list[Any]) -> None:
    reader = AnswerReader("acme/m-1")
    call = {"id": "c", "function": {"name": "look", "arguments": "{}"}}
    message = {"reasoning_details": details, "tool_calls": [call]}
    reader.feed(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())
    reader.end()
    answer = reader.completion()
    assert [each.name for each in answer.tool_calls] == ["look"]
    said = ChatMessage(role="assistant", tool_calls=answer.tool_calls, native=answer.native)
    assert encode_request(ask(said), Quirks())
