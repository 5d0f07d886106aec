"""The name of a request is the hash of its bytes, whatever was named before it."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.agent.request_names import RequestNames
from nanobot.providers.base import (
    ChatMessage,
    ImagePart,
    ModelRequest,
    NativeAnswer,
    TextPart,
    ToolCall,
    ToolSpec,
)

_texts = st.text(max_size=8) | st.just('"messages":[') | st.just('],"messages":[{')
_parts = st.tuples(st.builds(TextPart, _texts), st.builds(ImagePart, mime=_texts, blob=_texts))
_messages = st.builds(
    ChatMessage,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=_texts | _parts,
    tool_calls=st.lists(st.builds(ToolCall, _texts, _texts, _texts), max_size=2).map(tuple),
    native=st.none() | st.builds(NativeAnswer, _texts, _texts),
)
_tools = st.lists(st.builds(ToolSpec, _texts, _texts, st.just({"type": "object"})), max_size=2)


@st.composite
def _conversations(draw: st.DrawFn) -> list[ModelRequest]:
    """Requests that mostly begin as the one before, and at times do not."""
    requests: list[ModelRequest] = []
    messages: tuple[ChatMessage, ...] = ()
    earlier: list[tuple[ToolSpec, ...]] = []
    for added in draw(st.lists(st.lists(_messages, max_size=3), min_size=1, max_size=6)):
        kept = draw(st.sampled_from([len(messages), len(messages), 1, 0]))
        messages = (*messages[:kept], *added)
        model = draw(st.sampled_from(["m", "m", 'other"messages":[']))
        tools = draw(st.sampled_from([earlier[-1], ()])) if earlier else tuple(draw(_tools))
        earlier.append(tools)
        warm = draw(st.sampled_from([1, 1, 1.0]))
        requests.append(ModelRequest(model=model, messages=messages, tools=tools, temperature=warm))
    return requests


@given(_conversations())
def test_a_request_has_the_same_name_after_any_other(requests: list[ModelRequest]) -> None:
    names = RequestNames()
    for request in requests:
        assert names.of(request) == hashlib.sha256(msgspec.json.encode(request)).hexdigest()


def test_one_that_cannot_be_encoded_changes_no_later_name() -> None:
    names, fine = RequestNames(), ChatMessage(role="user", content="fine")
    names.of(ModelRequest(model="m", messages=(fine,)))
    for broken in ((fine, ChatMessage(role="user", content="\ud83d")), (msgspec.UNSET,)):
        with pytest.raises((UnicodeEncodeError, TypeError)):
            names.of(ModelRequest(model="m", messages=broken))  # type: ignore[arg-type]
    after = ModelRequest(model="m", messages=(fine, fine))
    assert names.of(after) == RequestNames().of(after)


def test_only_what_is_new_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = RequestNames()
    long = [ChatMessage(role="user", content=f"{number} " * 1_000) for number in range(50)]
    names.of(ModelRequest(model="m", messages=tuple(long)))
    encoded = []

    def encode(value: object) -> bytes:
        encoded.append(msgspec.json.encode(value))
        return encoded[-1]

    counting = type("json", (), {"encode": staticmethod(encode)})
    monkeypatch.setattr(
        "nanobot.agent.request_names.msgspec",
        type("msgspec", (), {"json": counting, "structs": msgspec.structs}),
    )
    names.of(ModelRequest(model="m", messages=(*long, ChatMessage(role="user", content="new"))))
    assert sum(map(len, encoded)) < 1_000
