"""The spans of a run: the same from the same log, whole whatever the log holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.otlp import JSON, PROTOBUF
from nanobot.plugins.common.runs.trace_ids import trace_id
from nanobot.plugins.traces import names
from nanobot.plugins.traces.otlp import encoded
from nanobot.plugins.traces.span import Sent, Span, span_id
from nanobot.plugins.traces.spans import spans_of
from nanobot.providers.base import ModelProfile, Price, ToolCall, Usage
from nanobot.session.entries import (
    ApprovalEntry,
    Body,
    DecisionEntry,
    Entry,
    FallbackEntry,
    FeedbackEntry,
    ModelCallEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from nanobot.session.runs import Run
from nanobot.session.states import RunKind, RunState
from tests.agent.test_any_log import floats, texts, values
from tests.sampling import examples

PROFILE = ModelProfile(
    name="gpt-6-luna", provider="gemini", price=Price(prompt=1e-6, completion=2e-6)
)
DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "traces.md").read_text("utf-8")
ADDRESS = Address("telegram", "7")


def run(state: RunState = RunState.COMPLETED, **fields: Any) -> Run:
    given: dict[str, Any] = {
        "id": "r1",
        "session_key": "telegram:7",
        "kind": RunKind.CHAT,
        "state": state,
        "origin": Origin.USER,
        "address": ADDRESS,
        "sender_id": "1001",
        "role": Role.OWNER,
        "reply_to": None,
        "first_seq": 1,
        "attempts": 0,
        "created_at": 100.0,
        "ended_at": 120.0,
    }
    return Run(**(given | fields))


def log(*bodies: Body, run_id: str = "r1") -> list[Entry]:
    return [Entry(seq, run_id, 100.0 + seq, body) for seq, body in enumerate(bodies, 1)]


def said(text: str = "hi") -> UserEntry:
    return UserEntry(
        text=text, address=ADDRESS, sender_id="1001", role=Role.OWNER, sent_at=99.0, inbound_id=1
    )


def asked(call: int) -> ModelCallEntry:
    return ModelCallEntry(
        call=call,
        prompt="p",
        window_from=1,
        profile=PROFILE,
        estimate=9,
        temperature=0.7,
        max_tokens=50,
    )


CALLS = (ToolCall("a", "exec", "{}"), ToolCall("b", "read_file", "{}"))
WHOLE = log(
    said(),
    asked(1),
    FallbackEntry(text="the model is away", ms=5),
    asked(2),
    ReplyEntry(
        call=2, text="", tool_calls=CALLS, usage=Usage(10, 2, 4), finish_reason="tool_calls"
    ),
    ToolResultEntry(call=2, index=1, name="read_file", text="x", ms=500),
    ApprovalEntry(id=3, call=2, index=0, digest="d"),
    DecisionEntry(id=3, verdict="approved", by="1001"),
    ToolStartedEntry(call=2, index=0, name="exec"),
    ToolResultEntry(call=2, index=0, name="exec", text="x", ok=False),
    asked(3),
    ReplyEntry(call=3, text="done", usage=Usage(20, 3)),
)


def by_name(spans: list[Span]) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = {}
    for span in spans:
        found.setdefault(span.name, []).append(span)
    return found


def test_a_run_with_tools_and_an_approval_is_two_linked_segments() -> None:
    sent = Sent(key="k", channel="telegram", created_at=113.0, settled_at=114.0)
    spans = by_name(spans_of(run(), WHOLE, [sent]))
    first, second = spans["invoke_agent nanobot"]
    assert (first.start, first.end, second.start, second.end) == (100.0, 107.0, 108.0, 120.0)
    assert second.links == ((trace_id("r1"), first.id),)
    assert [event.name for event in first.events] == ["nanobot.approval.requested"]
    failed, tooled, last = spans["chat gpt-6-luna"]
    assert (failed.error, tooled.error, last.error) == ("the model is away", "", "")
    assert tooled.attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert tooled.attributes["gen_ai.usage.input_tokens"] == 10
    assert tooled.attributes["nanobot.cost"] == pytest.approx(10e-6 + 4e-6)
    (command,) = spans["execute_tool exec"]
    assert (command.parent, command.start, command.error) == (second.id, 109.0, "tool_error")
    (reading,) = spans["execute_tool read_file"]
    assert (reading.parent, reading.start) == (first.id, 105.5)
    assert [span.parent for span in spans["process telegram"]] == [first.id]
    assert [span.parent for span in spans["send telegram"]] == [second.id]


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
def test_what_a_kill_cut_keeps_its_ids_when_the_run_goes_on(cut: int) -> None:
    before = spans_of(run(RunState.MODEL_RUNNING, ended_at=None), WHOLE[:cut])
    after = {span.id: span for span in spans_of(run(), WHOLE)}
    assert {span.id for span in before} <= set(after)
    assert all(after[span.id].name == span.name for span in before)


def test_a_call_that_a_kill_cut_is_there_and_says_so() -> None:
    spans = by_name(spans_of(run(), log(said(), asked(1), asked(2), ReplyEntry(call=2, text="x"))))
    assert [span.error for span in spans["chat gpt-6-luna"]] == ["interrupted", ""]


def test_what_outsiders_see_of_a_conversation_is_no_address() -> None:
    spans = spans_of(run(), WHOLE)
    assert b"telegram:7" not in encoded(spans, {}, JSON)
    assert b"1001" not in encoded(spans, {}, JSON)


runs = st.builds(
    run,
    st.sampled_from(list(RunState)),
    created_at=floats,
    ended_at=st.none() | floats,
    error=st.none() | texts,
    session_key=texts,
)
entries = st.lists(
    st.builds(
        Entry,
        st.integers(1, 10**6),
        st.sampled_from(["r1", "r2"]),
        floats,
        st.none() | values(inspect.type_info(Body)),
    ),
    max_size=8,
    unique_by=lambda entry: entry.seq,
).map(lambda some: sorted(some, key=lambda entry: entry.seq))


@pytest.mark.process
@given(runs, entries, st.sampled_from([JSON, PROTOBUF]))
@settings(max_examples=examples(150), deadline=None)
def test_whatever_the_log_holds_is_a_trace_that_a_collector_reads(
    made: Run, found: list[Entry], kind: str
) -> None:
    spans = spans_of(made, found)
    assert spans == spans_of(made, found)
    written = encoded(spans, {"service.name": "nanobot"}, kind)
    if kind == JSON:
        (resource,) = msgspec.json.decode(written)["resourceSpans"]
        assert len(resource["scopeSpans"][0]["spans"]) == len(spans)
        return
    request = ExportTraceServiceRequest.FromString(written)
    got = request.resource_spans[0].scope_spans[0].spans
    known = {span.span_id for span in got}
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in got)
    assert all(not span.parent_span_id or span.parent_span_id in known for span in got)
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in got)
    assert {span.trace_id.hex() for span in got} == {trace_id(made.id)}


def test_ids_of_different_things_differ() -> None:
    assert span_id("r1", "call", 1) != span_id("r1", "tool", 1) != span_id("r2", "tool", 1)


def test_the_document_lists_every_name_and_no_other() -> None:
    listed = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", DOCUMENT.split("## Names")[1]))
    named = {
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and "." in value and "/" not in value
    }
    assert listed - {"names.py"} == named - {names.SCOPE}


def test_a_clock_that_is_set_back_makes_no_span_end_before_it_starts() -> None:
    back = [Entry(e.seq, e.run_id, 1_000.0 - 10 * e.seq, e.body) for e in WHOLE]
    sent = Sent(key="k", channel="telegram", created_at=500.0, settled_at=3.0)
    spans = spans_of(run(created_at=900.0, ended_at=1.0), back, [sent])
    assert len(spans) == len(spans_of(run(), WHOLE, [sent]))
    assert all(span.end >= span.start for span in spans)


def test_a_run_that_went_on_without_its_approval_is_two_segments_too() -> None:
    parts = (said(), asked(1), ReplyEntry(call=1, text="", tool_calls=CALLS))
    waits = ApprovalEntry(id=3, call=1, index=0, digest="d", rule="commands ask")
    late = ToolResultEntry(call=1, index=0, name="exec", text="not yet approved (#3)", ok=False)
    first, second = by_name(spans_of(run(), log(*parts, waits, late, said("go on"))))[
        "invoke_agent nanobot"
    ]
    assert second.links == ((trace_id("r1"), first.id),)
    (asked_for,) = first.events
    assert asked_for.attributes["nanobot.policy.rule"] == "commands ask"


def test_a_refusal_of_the_policy_names_its_rule() -> None:
    refused = ToolResultEntry(
        call=1, index=0, name="exec", text="no", ok=False, facts={"policy": "deny rule of the chat"}
    )
    reply = ReplyEntry(call=1, text="", tool_calls=CALLS[:1])
    (span,) = by_name(spans_of(run(), log(said(), asked(1), reply, refused)))["execute_tool exec"]
    assert span.error == "denied"
    assert span.events[0].attributes == {
        "nanobot.policy.verdict.type": "deny",
        "nanobot.policy.rule": "rule of the chat",
    }


def test_what_an_mcp_server_says_of_itself_is_bounded_and_nothing_else_is_taken() -> None:
    facts = {"mcp.method": "tools/call", "mcp.session": "s" * 10_000, "other": "x"}
    result = ToolResultEntry(call=1, index=0, name="exec", text="x", facts=facts)
    (span,) = by_name(spans_of(run(), log(said(), result)))["execute_tool exec"]
    assert len(str(span.attributes["mcp.session.id"])) == 256
    assert "x" not in span.attributes.values()


def test_events_and_links_are_bounded() -> None:
    kept = "link 00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    many = [msgspec.structs.replace(said(), kept=kept) for _ in range(500)]
    rated = [FeedbackEntry(verdict="up", by="1001") for _ in range(500)]
    (whole,) = by_name(spans_of(run(), log(*many, *rated)))["invoke_agent nanobot"]
    assert (len(whole.links), len(whole.events)) == (32, 128)


def test_a_run_with_several_messages_continues_the_first_trace_and_links_to_the_others() -> None:
    one, two = "00-" + "1" * 32 + "-" + "2" * 16 + "-01", "00-" + "3" * 32 + "-" + "4" * 16 + "-01"
    messages = [msgspec.structs.replace(said(), kept=kept) for kept in (one, two)]
    (whole,) = by_name(spans_of(run(), log(*messages)))["invoke_agent nanobot"]
    assert (whole.trace, whole.parent) == ("1" * 32, "2" * 16)
    assert whole.links == (("3" * 32, "4" * 16),)
