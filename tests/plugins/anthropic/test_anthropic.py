"""What is Anthropic's alone: its cache, answers that go back as they came, what its API refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.api import Agent, RunInput
from nanobot.plugins.anthropic.provider import AnthropicProvider
from nanobot.plugins.anthropic.request import encode_message
from nanobot.plugins.anthropic.stream import MessageReader
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    ImagePart,
    ModelProfile,
    ModelRequest,
    Price,
    Retrying,
    TextPart,
    ToolCall,
    ToolSpec,
    Usage,
)
from nanobot.providers.openai_request import Quirks
from nanobot.testing.machine import ManualClock
from tests.doubles.anthropic_rules import missing_thoughts, problem_with
from tests.doubles.anthropic_server import AnthropicServer, refusal
from tests.doubles.openai_server import Answer, Body
from tests.providers.asking import KEY
from tests.sampling import examples

MODEL = "claude-haiku-4-5"
LOOK = ToolSpec("look", "Look at a file. " * 40, {"type": "object", "properties": {}})
SYSTEM = ChatMessage(role="system", content="You are careful. " * 60)


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer() as running:
        yield running


@pytest.fixture
async def provider(server: AnthropicServer) -> AsyncIterator[AnthropicProvider]:
    opened = AnthropicProvider("anthropic", server.root, KEY, clock=ManualClock())
    yield opened
    await opened.close()


def ask(*messages: ChatMessage, **more: Any) -> ModelRequest:
    return ModelRequest(model=MODEL, messages=messages, **({"tools": (LOOK,)} | more))


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def replied(answer: Completion) -> ChatMessage:
    return ChatMessage(
        role="assistant",
        content=answer.text,
        tool_calls=answer.tool_calls,
        native=answer.native,
    )


def seen(text: str, answer: Completion) -> list[ChatMessage]:
    return [ChatMessage(role="tool", content=text, tool_call_id=c.id) for c in answer.tool_calls]


def sent(*messages: ChatMessage, **more: Any) -> Body:
    body: Body = json.loads(encode_message(ask(*messages, **more), Quirks()))
    return body


def blocks(body: Body) -> list[dict[str, Any]]:
    """Everything of a request in the order in which it is cached, breakpoints left out."""
    everything = [*body.get("tools", []), *body.get("system", [])]
    for message in body["messages"]:
        everything += [{**block, "role": message["role"]} for block in message["content"]]
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in everything]


async def test_each_round_of_a_task_reads_what_the_one_before_wrote(
    provider: AnthropicProvider, server: AnthropicServer
) -> None:
    server.script = lambda body: Answer(tool_calls=[("look", "{}")] * 3)
    history = [SYSTEM, user("Tidy up." * 50)]
    answers = []
    for _ in range(10):
        answer = await provider.chat(ask(*history))
        answers.append(answer)
        history += [replied(answer), *seen("much to see " * 30, answer)]
    usages = [answer.usage for answer in answers if answer.usage]
    assert len(usages) == 10
    assert usages[0].cached_tokens == 0
    assert usages[0].cache_write_tokens == usages[0].prompt_tokens
    for before, after in pairwise(usages):
        assert after.cached_tokens == before.prompt_tokens
        assert after.cached_tokens + after.cache_write_tokens == after.prompt_tokens
    price = Price(prompt=1.0, completion=0.0, cached=0.1, cache_write=1.25)
    paid = sum(price.of(usage) for usage in usages)
    assert paid < 0.4 * sum(usage.prompt_tokens for usage in usages)


def test_breakpoints_are_at_tools_system_and_the_last_two_turns() -> None:
    turns = [message for n in range(4) for message in (user(f"q{n}"), _said(f"a{n}"))]
    body = sent(SYSTEM, *turns, user("last"))
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][-1]
    marked = [
        number
        for number, message in enumerate(body["messages"])
        if any("cache_control" in block for block in message["content"])
    ]
    assert marked == [6, 8]
    assert problem_with(body) is None


def test_a_lone_question_without_tools_is_not_kept() -> None:
    body = sent(SYSTEM, user("Sum up: " + "much was said " * 500), tools=())
    assert "cache_control" in body["system"][0]
    assert "cache_control" not in body["messages"][0]["content"][0]


async def test_thoughts_go_back_with_their_signatures_as_they_came(
    provider: AnthropicProvider, server: AnthropicServer
) -> None:
    server.script = lambda body: (
        Answer(reasoning="let me see", text="Looking.", tool_calls=[("look", "{}")])
        if len(server.requests) == 1
        else Answer("done")
    )
    first = await provider.chat(ask(user("go")))
    assert first.reasoning == "let me see"
    last = await provider.chat(ask(user("go"), replied(first), *seen("x", first)))
    assert last.text == "done"
    content = server.requests[1]["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text", "tool_use"]
    # The double is as strict as the API: the same without the thoughts is refused.
    bare = ChatMessage(role="assistant", content=first.text, tool_calls=first.tool_calls)
    refused = sent(user("go"), bare, *seen("x", first))
    assert "Expected `thinking`" in str(missing_thoughts(refused, server._given))


async def test_citations_go_back_as_they_came(
    provider: AnthropicProvider, server: AnthropicServer
) -> None:
    cited = {"type": "char_location", "cited_text": "grass is green", "document_index": 0}
    server.citations = [cited]
    answer = await provider.chat(ask(user("say:Grass is green.")))
    assert answer.text == "Grass is green."
    await provider.chat(ask(user("what?"), replied(answer), user("say:so")))
    assert server.requests[1]["messages"][1]["content"][0]["citations"] == [cited]


async def test_an_answer_of_text_and_calls_alone_needs_no_form_of_its_own(
    provider: AnthropicProvider,
) -> None:
    assert (await provider.chat(ask(user("tool:look:{}")))).native is None
    assert (await provider.chat(ask(user("think:only this")))).native is None


async def test_a_model_that_takes_no_temperature_is_asked_again_without(
    provider: AnthropicProvider, server: AnthropicServer
) -> None:
    server.fail_with(
        refusal(400, "invalid_request_error", "`temperature` is deprecated for this model.")
    )
    deltas = [delta async for delta in provider.chat_stream(ask(user("say:ok")))]
    assert sum(isinstance(delta, Retrying) for delta in deltas) == 1
    await provider.chat(ask(user("say:ok")))
    assert ["temperature" in request for request in server.requests] == [True, False, False]


async def test_a_model_that_is_known_to_take_none_is_never_sent_one(
    server: AnthropicServer,
) -> None:
    def profiles(provider: str, model: str) -> ModelProfile:
        return ModelProfile(name=model, provider=provider, sampling=False)

    opened = AnthropicProvider(
        "anthropic", server.root, KEY, clock=ManualClock(), profiles=profiles
    )
    await opened.chat(ask(user("say:ok")))
    assert "temperature" not in server.requests[0]
    await opened.close()


def _said(text: str, *calls: ToolCall) -> ChatMessage:
    return ChatMessage(role="assistant", content=text, tool_calls=calls)


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (_said("I begin."), user("oh")),
        (user("hi"), _said("hello")),
        (user("  "), _said(" \n"), user("")),
        (user("a"), user("b"), SYSTEM, user("c")),
        # Ids that come back with each answer, as of servers that give none.
        (
            *(user("a"), _said("", ToolCall("call_0", "look", "{}"))),
            *(ChatMessage(role="tool", content="1", tool_call_id="call_0"),),
            *(_said("", ToolCall("call_0", "look", "{}")),),
            *(ChatMessage(role="tool", content="2", tool_call_id="call_0"),),
        ),
        # A call without its result, a result without its call.
        (user("a"), _said("", ToolCall("x", "look", "{}")), user("b")),
        (user("a"), ChatMessage(role="tool", content="1", tool_call_id="none"), user("b")),
        (user("a"), _said("x", ToolCall("i d", "look at", "{broken"))),
        (ChatMessage(role="user", content=(ImagePart("image/tiff", "QQ=="), TextPart(""))),),
        (user("half an emoji: \ud83d"), _said("", ToolCall("", "look", '{"a":"\ud83d"}'))),
    ],
)
@pytest.mark.parametrize("tools", [(LOOK,), ()])
def test_every_conversation_is_made_one_that_the_api_takes(
    messages: tuple[ChatMessage, ...], tools: tuple[ToolSpec, ...]
) -> None:
    assert problem_with(sent(*messages, tools=tools)) is None


TEXTS = st.sampled_from(["", " ", "x", "text\n"])
CALLS = st.lists(
    st.builds(ToolCall, st.sampled_from(["a", "b", "", "a/1"]), st.just("look"), st.just("{}")),
    max_size=3,
)
MESSAGES = st.one_of(
    st.builds(user, TEXTS),
    st.builds(lambda text, calls: _said(text, *calls), TEXTS, CALLS),
    st.builds(
        lambda text, call: ChatMessage(role="tool", content=text, tool_call_id=call),
        TEXTS,
        st.sampled_from(["a", "b", "", "a/1"]),
    ),
)


@given(st.lists(MESSAGES, max_size=12))
@settings(max_examples=examples(200), deadline=None)
def test_any_conversation_is_taken_and_begins_with_the_shorter_one(
    messages: list[ChatMessage],
) -> None:
    bodies = [sent(*messages[:length]) for length in range(len(messages) + 1)]
    for body in bodies:
        assert problem_with(body) is None
    assert encode_message(ask(*messages), Quirks()) == encode_message(ask(*messages), Quirks())


def test_a_longer_conversation_begins_with_the_blocks_of_the_shorter_one() -> None:
    history = [SYSTEM, user("go")]
    shorter = blocks(sent(*history))
    for number in range(12):
        calls = (ToolCall("call_0", "look", "{}"), ToolCall("call_1", "look", "{}"))
        history += [
            _said(f"round {number}", *calls),
            ChatMessage(role="tool", content="1", tool_call_id="call_0"),
            ChatMessage(role="tool", content="2", tool_call_id="call_1"),
        ]
        if number % 3 == 0:
            history.append(user("by the way"))
        longer = blocks(sent(*history))
        assert longer[: len(shorter)] == shorter
        shorter = longer


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "anyOf": [{"properties": {"a": {}}, "required": ["a"]}]},
        {"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "$schema": "draft-07"},
        {"allOf": [{"properties": {"a": {}}, "required": ["a"]}], "required": ["gone"]},
        {"type": "object", "properties": {"odd name!": {}}, "required": ["odd name!"]},
        {"type": ["object", "null"], "properties": None},
    ],
)
def test_schemas_of_other_programs_are_made_ones_that_the_api_takes(schema: dict[str, Any]) -> None:
    body = sent(user("x"), tools=(ToolSpec("look", "", schema),))
    assert problem_with(body) is None
    described = body["tools"][0]["input_schema"]
    assert set(described.get("required", ())) <= described["properties"].keys()


def test_an_answer_reads_the_same_however_its_bytes_are_cut() -> None:
    server = AnthropicServer()
    server.citations = [{"type": "page_location"}]
    answer = Answer("Grün \U0001f600, ja.", "hm \U0001f600", [("look", '{"a": "ü\\n"}')] * 2)
    body = {"model": MODEL, "messages": [], "stream": True}
    data = b"".join(server.frames(body, b"", answer)).replace(b"\n", b"\r\n")
    whole = read(data, len(data))
    assert (whole.text, whole.reasoning) == (answer.text, answer.reasoning)
    assert [call.arguments for call in whole.tool_calls] == ['{"a": "ü\\n"}'] * 2
    for size in (1, 2, 3, 7, 64):
        assert read(data, size) == whole


def read(data: bytes, size: int) -> Completion:
    reader = MessageReader("anthropic/x")
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    reader.end()
    assert reader.complete
    return reader.completion()


def test_usage_counts_what_the_cache_gave_and_took() -> None:
    start = {"input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 1}
    events = [
        {"type": "message_start", "message": {"usage": start}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 9, "cache_creation_input_tokens": 20},
        },
        {"type": "message_stop"},
    ]
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    answer = read(data, 5)
    assert answer.usage == Usage(123, 9, 100, 20)
    assert answer.finish_reason == "length"


async def test_a_run_keeps_thoughts_in_its_log_and_sends_them_back(
    tmp_path: Path, server: AnthropicServer
) -> None:
    """The assembled library: the configuration, the log, the context, the wire."""
    server.script = lambda body: (
        Answer(reasoning="a list first", tool_calls=[("list_dir", '{"path": "."}')])
        if len(server.requests) == 1
        else Answer("Two files.", reasoning="now I know")
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[agent]\nmodel = "anthropic/{MODEL}"\n[memory]\nenabled = false\n'
        f'[providers.anthropic]\napi_key = "k"\napi_base = "{server.root}"\n'
    )
    async with Agent.open(home) as agent:
        for question in ("How many files are there?", "Sure?"):
            asked = RunInput(messages=[{"role": "user", "content": question}], session_key="api:a")
            assert (await agent.run(asked)).message == "Two files."
    kinds = [
        [block["type"] for block in message["content"]]
        for message in server.requests[2]["messages"]
        if message["role"] == "assistant"
    ]
    assert kinds == [["thinking", "tool_use"], ["thinking", "text"]]
    assert server.usages[1]["cache_read_input_tokens"] > 0
    assert server.usages[2]["cache_read_input_tokens"] > 0
