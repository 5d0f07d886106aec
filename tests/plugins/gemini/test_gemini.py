"""What is Gemini's alone: signatures of thoughts, its schemas, its ways to stop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import ModelProtocolError, ModelRefused
from nanobot.plugins.common.models.openai_once import SingleRequest, ask_once
from nanobot.plugins.gemini.provider import GeminiProvider
from nanobot.plugins.gemini.request import encode_contents
from nanobot.plugins.gemini.stream import ContentReader
from nanobot.providers.base import ChatMessage, Completion, ModelRequest, ToolCall, ToolSpec, Usage
from nanobot.providers.openai_chunk import PICTURE
from nanobot.providers.openai_request import Quirks
from nanobot.testing.machine import ManualClock
from tests.doubles.gemini_rules import SIGNATURES, problem_with
from tests.doubles.gemini_server import GeminiServer
from tests.doubles.openai_server import Answer, Body, Fault
from tests.providers.asking import KEY
from tests.sampling import examples

MODEL = "gemini-3.8-flash"
LOOK = ToolSpec("look", "Look at a file.", {"type": "object", "properties": {"path": {}}})


@pytest.fixture
async def server() -> AsyncIterator[GeminiServer]:
    async with GeminiServer() as running:
        yield running


@pytest.fixture
async def provider(server: GeminiServer) -> AsyncIterator[GeminiProvider]:
    opened = GeminiProvider("gemini", server.root, KEY, clock=ManualClock())
    yield opened
    await opened.close()


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def said(text: str, *calls: ToolCall) -> ChatMessage:
    return ChatMessage(role="assistant", content=text, tool_calls=calls)


def ask(*messages: ChatMessage, **more: Any) -> ModelRequest:
    return ModelRequest(model=MODEL, messages=messages, **({"tools": (LOOK,)} | more))


def sent(*messages: ChatMessage, **more: Any) -> Body:
    body: Body = json.loads(encode_contents(ask(*messages, **more), Quirks()))
    return body


async def test_signatures_of_thoughts_go_back_as_they_came(
    provider: GeminiProvider, server: GeminiServer
) -> None:
    first = await provider.chat(ask(user('tool:look:{"path": "a"}')))
    (call,) = first.tool_calls
    assert first.native is not None
    answer = ChatMessage(role="assistant", tool_calls=(call,), native=first.native)
    seen = ChatMessage(role="tool", content="seen", tool_call_id=call.id)
    await provider.chat(ask(user('tool:look:{"path": "a"}'), answer, seen))
    part = server.requests[1]["contents"][1]["parts"][0]
    assert part["thoughtSignature"] == SIGNATURES[0]
    bare = sent(user("x"), said("", call), seen)
    del bare["contents"][1]["parts"][0]["thoughtSignature"]
    assert "missing a thought_signature" in str(problem_with(bare, MODEL))


def test_calls_of_another_model_say_that_they_have_no_signature() -> None:
    calls = (ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}"))
    results = (ChatMessage(role="tool", content="x", tool_call_id=c.id) for c in calls)
    body = sent(user("x"), said("", *calls), *results)
    assert [p.get("thoughtSignature") for p in body["contents"][1]["parts"]] == [
        SIGNATURES[1],
        None,
    ]


async def test_vectors_are_made_at_the_compatible_address(
    provider: GeminiProvider, server: GeminiServer
) -> None:
    body = json.dumps({"model": "gemini-embedding-001", "input": ["ab", "c"]}).encode()
    call = SingleRequest(path="embeddings", body=body, answer=bytes, max_bytes=10_000)
    answered = await ask_once(call, provider.endpoint("gemini-embedding-001"))
    vectors = json.loads(answered)
    assert [row["embedding"] for row in vectors["data"]] == [[2.0, 0.0], [1.0, 1.0]]


def events(*responses: Body) -> bytes:
    return b"".join(b"data: " + json.dumps(r).encode() + b"\r\n\r\n" for r in responses)


def read(data: bytes, size: int) -> Completion:
    reader = ContentReader("gemini/x")
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.end()
    assert reader.complete
    return reader.completion()


def test_an_answer_reads_the_same_however_its_bytes_are_cut() -> None:
    answer = Answer("Grün \U0001f600, ja.", "hm", [("look", '{"a": "ü\\n"}')] * 2)
    data = b"".join(GeminiServer().frames({}, b"x" * 40, answer))
    whole = read(data, len(data))
    assert (whole.text, whole.reasoning) == (answer.text, answer.reasoning)
    assert [json.loads(call.arguments) for call in whole.tool_calls] == [{"a": "ü\n"}] * 2
    for size in (1, 2, 3, 7, 64):
        assert read(data, size) == whole


def test_a_picture_is_named_and_its_bytes_are_not_kept() -> None:
    picture = {"mimeType": "image/png", "data": "A" * 9000}
    parts = [{"text": "Here: "}, {"inlineData": picture, "thoughtSignature": "s"}, {"text": "ok"}]
    signed = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "t"}
    data = events(
        {"candidates": [{"content": {"parts": [*parts, signed]}, "finishReason": "STOP"}]}
    )
    answer = read(data, len(data))
    assert answer.text == f"Here: {PICTURE}\nok"
    assert answer.native is not None
    assert "AAAA" not in answer.native.content


def test_usage_counts_thoughts_and_what_came_from_the_cache() -> None:
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 50,
        "cachedContentTokenCount": 80,
        "toolUsePromptTokenCount": 5,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
    }
    data = events(
        {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "MAX_TOKENS"}]},
        {"candidates": [], "usageMetadata": usage},
    )
    answer = read(data, 9)
    assert (answer.usage, answer.finish_reason) == (Usage(105, 57, 80), "length")


async def test_a_prompt_that_is_blocked_is_refused(
    provider: GeminiProvider, server: GeminiServer
) -> None:
    server.fail_with(Fault(raw=events({"promptFeedback": {"blockReason": "SAFETY"}})))
    with pytest.raises(ModelRefused, match="blocked: SAFETY"):
        await provider.chat(ask(user("x")))


async def test_a_broken_call_is_asked_again(provider: GeminiProvider, server: GeminiServer) -> None:
    broken = events({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})
    server.fail_with(Fault(raw=broken))
    assert (await provider.chat(ask(user("say:ok")))).text == "ok"
    server.fail_with(*[Fault(raw=broken)] * 3)
    with pytest.raises(ModelProtocolError, match="MALFORMED_FUNCTION_CALL"):
        await provider.chat(ask(user("say:ok")))


TEXTS = st.sampled_from(["", " ", "x", "text\n"])
IDS = st.sampled_from(["a", "b", ""])
CALLS = st.lists(
    st.builds(ToolCall, IDS, st.sampled_from(["look", "2nd", ""]), st.just("{}")), max_size=3
)
MESSAGES = st.one_of(
    st.builds(user, TEXTS),
    st.builds(lambda text, calls: said(text, *calls), TEXTS, CALLS),
    st.builds(
        lambda text, call: ChatMessage(role="tool", content=text, tool_call_id=call), TEXTS, IDS
    ),
)


@given(st.lists(MESSAGES, max_size=12))
@settings(max_examples=examples(150), deadline=None)
def test_every_conversation_is_made_one_that_the_api_takes(messages: list[ChatMessage]) -> None:
    assert problem_with(sent(*messages), MODEL) is None


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.just({}),
        st.builds(
            lambda kind: {"type": kind, "$comment": "x", "default": 1, "exclusiveMinimum": 0},
            st.sampled_from(["string", "integer", "array", "object", "null", "number"]),
        ),
        st.just({"type": ["string", "null"], "format": "uri"}),
        st.just({"enum": ["a", "", 3]}),
        st.just({"type": "integer", "enum": [1, 2]}),
        st.just({"const": "x"}),
        st.just({"$ref": "#/$defs/node"}),
        st.just({"$ref": "https://elsewhere"}),
        st.just(True),
    ),
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(
            lambda values: {"type": "object", "properties": values, "required": ["a", "gone"]},
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        ),
        st.builds(
            lambda word, parts: {word: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["p", "q"]), SCHEMAS, max_size=2))
@settings(max_examples=examples(150), deadline=None)
def test_schemas_of_other_programs_are_made_ones_that_the_api_takes(
    properties: dict[str, Any],
) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "properties": properties, "$defs": {"node": node}}
    body = sent(user("x"), tools=(ToolSpec("look", "", schema),))
    assert problem_with(body, MODEL) is None
