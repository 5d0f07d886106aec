"""Reading answers: every shape that real servers send, however the bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.providers.base import Completion, ToolCall, Usage
from nanobot.providers.openai_chunk import PICTURE, StreamError
from nanobot.providers.openai_stream import AnswerReader
from tests.doubles.openai_server import Answer, events, sse


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
    merged = calls(
        {"index": 0, "function": {"name": "a", "arguments": "{"}},
        {"index": 0, "function": {"arguments": "}"}},
        {"index": 1, "function": {"name": "b", "arguments": {"x": 1}}},
        {"index": 2, "id": "", "function": {"name": "c"}},
    )
    assert merged == (
        ToolCall("call_0", "a", "{}"),
        ToolCall("call_1", "b", '{"x":1}'),
        ToolCall("call_2", "c", "{}"),
    )


def test_parallel_calls_that_all_claim_index_zero_stay_apart() -> None:
    merged = calls(
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": "{}"}},
        {"index": 0, "id": "y", "function": {"name": "b", "arguments": "{}"}},
    )
    assert [call.name for call in merged] == ["a", "b"]


def test_calls_without_an_index_are_told_apart_by_their_names() -> None:
    merged = calls(
        {"function": {"name": "a", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"function": {"name": "a", "arguments": '{"n":2}'}},
    )
    assert [call.arguments for call in merged] == ["{}", '{"n":2}']


def test_an_id_repeated_with_every_fragment_is_one_call() -> None:
    merged = calls(
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": '{"n"'}},
        {"index": 0, "id": "x", "function": {"name": "a", "arguments": ":1}"}},
    )
    assert merged == (ToolCall("x", "a", '{"n":1}'),)


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
    ("reason", "meant"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("eos", "stop"),
        ("SAFETY", "content_filter"),
        ("tool_calls", "stop"),
        ("model_context_window_exceeded", "length"),
        ("repetition_truncation", "length"),
        ("sensitive", "content_filter"),
        ("refusal", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
    ],
)
def test_reasons_to_finish_are_made_one_of_four(reason: str, meant: str) -> None:
    assert read(sse(events(Answer("x", finish_reason=reason)))).finish_reason == meant


@pytest.mark.parametrize(
    "reason",
    [
        "error",
        "abort",
        "network_error",
        "insufficient_system_resource",
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
    ],
)
def test_an_answer_that_its_own_server_broke_off_is_an_error(reason: str) -> None:
    with pytest.raises(StreamError):
        read(sse(events(Answer("x", finish_reason=reason))))


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
    answered = Answer(text, reasoning, [("look", json.dumps(arguments))])
    answer = read(sse(events(answered)))
    assert (answer.text, answer.reasoning) == (text, reasoning)
    assert json.loads(answer.tool_calls[0].arguments) == arguments


PICTURE_URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"content": "Here:", "images": [PICTURE_URL]}, f"Here:\n{PICTURE}", ""),
        ({"images": [PICTURE_URL, PICTURE_URL]}, f"{PICTURE}\n{PICTURE}", ""),
        ({"content": "none", "images": []}, "none", ""),
        ({"content": [{"type": "text", "text": "a"}, PICTURE_URL]}, f"a{PICTURE}", ""),
        ({"content": [{"type": "output_text", "text": "a"}, {"type": "reference"}]}, "a", ""),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "a"},
                ]
            },
            "a",
            "hm",
        ),
        ({"content": [{"type": "thinking", "thinking": "hm"}, 5, None, "b"]}, "b", "hm"),
    ],
    ids=str,
)
def test_what_an_answer_consists_of_beside_text_is_named(
    delta: dict[str, Any], text: str, reasoning: str
) -> None:
    chunk = {"choices": [{"delta": delta}]}
    answer = read(sse([chunk, {"choices": [{"finish_reason": "stop"}]}]))
    assert (answer.text, answer.reasoning) == (text, reasoning)
