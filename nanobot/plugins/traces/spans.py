"""Derives the spans of a run from its log: a pure function.

A run that waited for a person has several segments, each linked to the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nanobot.plugins.traces import names
from nanobot.plugins.traces.span import (
    CLIENT,
    CONSUMER,
    INTERNAL,
    PRODUCER,
    Sent,
    Span,
    SpanEvent,
    conversation,
    span_id,
)
from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.entries import (
    ApprovalEntry,
    AuxiliaryFailedEntry,
    DecisionEntry,
    Entry,
    FallbackEntry,
    FeedbackEntry,
    ModelCallEntry,
    OverflowEntry,
    RecallEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    ToolStartedEntry,
    TriageEntry,
    UserEntry,
)
from nanobot.session.runs import Run
from nanobot.session.states import RunState
from nanobot.telemetry.ids import trace_id
from nanobot.telemetry.otlp import Value

_MOST_MS = 10**12
_MOST_TEXT = 256
_EMBEDDED = "embedded"
_AGENT = "nanobot"


def spans_of(run: Run, entries: Sequence[Entry], sent: Iterable[Sent] = ()) -> list[Span]:
    """All spans of a run; a span without a known end ends with the last known event."""
    own = [entry for entry in entries if entry.run_id == run.id and entry.body is not None]
    cut = _segments(own)
    derived = _Derived(run, own, cut)
    spans = [
        *derived.segments(),
        *derived.messages(),
        *derived.calls(),
        *derived.tools(),
        *derived.auxiliary(),
    ]
    spans += [derived.send(row) for row in sent]
    return sorted(spans, key=lambda span: (span.start, span.id))


def _segments(own: Sequence[Entry]) -> list[list[Entry]]:
    """The entries of a run, split where it waited for a person."""
    segments: list[list[Entry]] = [[]]
    waits = False
    for entry in own:
        if waits and isinstance(entry.body, DecisionEntry):
            segments.append([])
            waits = False
        segments[-1].append(entry)
        waits = waits or isinstance(entry.body, ApprovalEntry)
    return segments


class _Derived:
    """One derivation."""

    def __init__(self, run: Run, own: Sequence[Entry], cut: Sequence[Sequence[Entry]]) -> None:
        self._run = run
        self._own = own
        self._cut = cut
        self._trace = trace_id(run.id)
        self._segment_of = {entry.seq: number for number, part in enumerate(cut) for entry in part}

    def segments(self) -> Iterable[Span]:
        """`invoke_agent`, once for each segment."""
        run = self._run
        for number, part in enumerate(self._cut):
            last = number == len(self._cut) - 1
            start = part[0].at if number and part else run.created_at
            end = part[-1].at if part else start
            if last and run.ended_at is not None:
                end = run.ended_at
            failed = last and run.state is RunState.FAILED
            attributes: dict[str, Value] = {
                names.OPERATION: names.INVOKE_AGENT,
                names.AGENT_NAME: _AGENT,
                names.CONVERSATION_ID: conversation(run.session_key),
                names.SESSION_ID: conversation(run.session_key),
                names.RUN_ID: run.id,
                names.RUN_KIND: str(run.kind),
                names.RUN_ORIGIN: str(run.origin),
                names.ROLE: str(run.role),
                names.SEGMENT: number,
            }
            if last:
                attributes[names.RUN_STATE] = str(run.state)
            if failed:
                attributes[names.ERROR_TYPE] = _short(run.error or "failed")
            yield Span(
                trace=self._trace,
                id=self._segment_id(number),
                name=f"{names.INVOKE_AGENT} {_AGENT}",
                start=start,
                end=end,
                attributes=attributes,
                error=_short(run.error or "failed") if failed else "",
                links=((self._trace, self._segment_id(number - 1)),) if number else (),
                events=tuple(_events(part)),
            )

    def messages(self) -> Iterable[Span]:
        """People's messages: from sending to their place in the log."""
        for entry in self._own:
            body = entry.body
            if isinstance(body, UserEntry):
                yield self._below(
                    entry,
                    "message",
                    entry.seq,
                    name=f"process {body.address.channel}",
                    kind=CONSUMER,
                    start=min(body.sent_at, entry.at),
                    attributes={
                        names.MESSAGING_SYSTEM: body.address.channel,
                        names.MESSAGING_OPERATION: "process",
                        names.MESSAGING_OPERATION_TYPE: "process",
                    },
                )

    def calls(self) -> Iterable[Span]:
        """`chat`: every model call, including calls that failed or were interrupted by a crash."""
        for position, entry in enumerate(self._own):
            body = entry.body
            if isinstance(body, ModelCallEntry):
                yield self._call(entry, body, self._own[position + 1 :])

    def _call(self, entry: Entry, body: ModelCallEntry, behind: Sequence[Entry]) -> Span:
        end, error, more = entry.at, "interrupted", dict[str, Value]()
        for later in behind:
            if isinstance(later.body, ModelCallEntry):
                break
            end = later.at
            if isinstance(later.body, ReplyEntry) and later.body.call == body.call:
                error = "cancelled" if later.body.partial else ""
                more[names.FINISH_REASONS] = (later.body.finish_reason,)
                more |= _usage(later.body.usage, body.profile)
                break
            if isinstance(later.body, FallbackEntry | OverflowEntry):
                error = _short(later.body.text)
                break
        attributes: dict[str, Value] = {
            **self._model(body.profile),
            names.REQUEST_MAX_TOKENS: body.max_tokens,
            **({names.REQUEST_TEMPERATURE: body.temperature} if body.profile.sampling else {}),
            **more,
        }
        return self._below(
            entry,
            "call",
            body.call,
            name=f"{names.CHAT} {body.profile.name}",
            kind=INTERNAL if body.profile.provider == _EMBEDDED else CLIENT,
            start=entry.at,
            end=end,
            attributes=attributes,
            error=error,
        )

    def tools(self) -> Iterable[Span]:
        """`execute_tool`: every call that has a result or was started."""
        started, ids = dict[tuple[int, int], Entry](), dict[tuple[int, int], str]()
        for entry in self._own:
            body = entry.body
            if isinstance(body, ReplyEntry):
                ids |= {(body.call, i): call.id for i, call in enumerate(body.tool_calls)}
            elif isinstance(body, ToolStartedEntry):
                started[body.call, body.index] = entry
            elif isinstance(body, ToolResultEntry):
                begun = started.pop((body.call, body.index), None)
                start = entry.at - _seconds(body.ms) if begun is None else begun.at
                key = (body.call, body.index)
                yield self._tool(entry, key, body.name, ids, start, "" if body.ok else "refused")
        for key, entry in started.items():
            if isinstance(entry.body, ToolStartedEntry):
                yield self._tool(entry, key, entry.body.name, ids, entry.at, "interrupted")

    def _tool(
        self,
        entry: Entry,
        key: tuple[int, int],
        name: str,
        ids: Mapping[tuple[int, int], str],
        start: float,
        error: str,
    ) -> Span:
        attributes: dict[str, Value] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: _short(name),
            names.TOOL_TYPE: "function",
        }
        if ids.get(key):
            attributes[names.TOOL_CALL_ID] = _short(ids[key])
        title = f"{names.EXECUTE_TOOL} {_short(name)}"
        return self._below(
            entry, "tool", key, name=title, start=start, attributes=attributes, error=error
        )

    def auxiliary(self) -> Iterable[Span]:
        """The steps before and after acting: recall, triage, summaries."""
        for entry in self._own:
            body = entry.body
            if isinstance(body, RecallEntry):
                attributes: Mapping[str, Value] = {names.OPERATION: names.SEARCH_MEMORY}
                yield self._timed(entry, "recall", names.SEARCH_MEMORY, body.ms, attributes)
            elif isinstance(body, TriageEntry | SummaryEntry) and body.profile is not None:
                stage = "triage" if isinstance(body, TriageEntry) else "summary"
                used = self._model(body.profile) | _usage(body.usage, body.profile)
                title = f"{names.CHAT} {body.profile.name}"
                yield self._timed(entry, stage, title, body.ms, used | {names.STAGE: stage})
            elif isinstance(body, AuxiliaryFailedEntry):
                about = {names.OPERATION: names.CHAT, names.STAGE: body.stage}
                yield self._timed(entry, body.stage, names.CHAT, body.ms, about, _short(body.text))

    def send(self, row: Sent) -> Span:
        """The delivery of an answer, from its creation to the receipt."""
        return Span(
            trace=self._trace,
            id=span_id(self._run.id, "send", row.key),
            parent=self._segment_id(len(self._cut) - 1),
            name=f"send {row.channel}",
            kind=PRODUCER,
            start=row.created_at,
            end=row.created_at if row.settled_at is None else row.settled_at,
            attributes={
                names.MESSAGING_SYSTEM: row.channel,
                names.MESSAGING_OPERATION: "send",
                names.MESSAGING_OPERATION_TYPE: "send",
                names.MAYBE_DUPLICATE: row.maybe_duplicate,
            },
            error=_short(row.error),
        )

    def _model(self, profile: ModelProfile) -> dict[str, Value]:
        return {
            names.OPERATION: names.CHAT,
            names.PROVIDER_NAME: _short(names.provider_name(profile.provider)),
            names.REQUEST_MODEL: _short(profile.name),
            names.CONVERSATION_ID: conversation(self._run.session_key),
        }

    def _timed(
        self,
        entry: Entry,
        what: str,
        name: str,
        ms: int,
        attributes: Mapping[str, Value],
        error: str = "",
    ) -> Span:
        return self._below(
            entry,
            what,
            entry.seq,
            name=name,
            start=entry.at - _seconds(ms),
            attributes=attributes,
            error=error,
        )

    def _below(  # noqa: PLR0913 - the fields of a span
        self,
        entry: Entry,
        what: str,
        which: object,
        *,
        name: str,
        start: float,
        attributes: Mapping[str, Value],
        kind: int = INTERNAL,
        end: float | None = None,
        error: str = "",
    ) -> Span:
        """A span within the segment of an entry. It ends with the entry unless `end` is later."""
        if error:
            attributes = {**attributes, names.ERROR_TYPE: error}
        return Span(
            trace=self._trace,
            id=span_id(self._run.id, what, which),
            parent=self._segment_id(self._segment_of[entry.seq]),
            name=name,
            kind=kind,
            start=start,
            end=entry.at if end is None else end,
            attributes=attributes,
            error=error,
        )

    def _segment_id(self, number: int) -> str:
        return span_id(self._run.id, "segment", number)


def _events(part: Sequence[Entry]) -> Iterable[SpanEvent]:
    for entry in part:
        match entry.body:
            case ApprovalEntry(id=number):
                yield SpanEvent(names.APPROVAL_ASKED, entry.at, {names.APPROVAL_ID: number})
            case DecisionEntry(id=number, verdict=verdict):
                about: dict[str, Value] = {
                    names.APPROVAL_ID: number,
                    names.VERDICT: _short(verdict),
                }
                yield SpanEvent(names.APPROVAL_DECIDED, entry.at, about)
            case FeedbackEntry(verdict=verdict):
                about_it: dict[str, Value] = {
                    names.EVALUATION_NAME: "thumb",
                    names.EVALUATION_LABEL: str(verdict),
                }
                yield SpanEvent(names.EVALUATION, entry.at, about_it)
            case _:
                pass


def _usage(usage: Usage | None, profile: ModelProfile) -> dict[str, Value]:
    if usage is None:
        return {}
    known = usage.clamped()
    attributes: dict[str, Value] = {
        names.INPUT_TOKENS: known.prompt_tokens,
        names.OUTPUT_TOKENS: known.completion_tokens,
        names.CACHE_READ_TOKENS: known.cached_tokens,
        names.CACHE_WRITE_TOKENS: known.cache_write_tokens,
    }
    if profile.price is not None:
        attributes[names.COST] = profile.price.of(known)
    return attributes


def _seconds(ms: int) -> float:
    return min(max(ms, 0), _MOST_MS) / 1000


def _short(text: str) -> str:
    """Labels have a maximum length: some contain text of people and platforms."""
    return " ".join(text.split())[:_MOST_TEXT]
