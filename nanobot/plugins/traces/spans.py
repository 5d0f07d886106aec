"""Derives the spans of a run from its log: a pure function.

A run that waited for a person has several segments, each linked to the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from nanobot.plugins.common.otlp import Value
from nanobot.plugins.common.runs.run_parts import Part, parts_of
from nanobot.plugins.common.runs.trace_ids import continued, linked, trace_id
from nanobot.plugins.traces import names
from nanobot.plugins.traces.content import Content
from nanobot.plugins.traces.span import (
    CLIENT,
    CONSUMER,
    INTERNAL,
    PRODUCER,
    Sent,
    Span,
    SpanEvent,
    hashed,
    span_id,
)
from nanobot.providers.base import ModelProfile
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
    ToolResultEntry,
    ToolStartedEntry,
    UserEntry,
)
from nanobot.session.keys import person
from nanobot.session.runs import Run
from nanobot.session.states import RunState

_MOST_TEXT = 256
_MOST_MS = 10**10
_MOST_EVENTS = 128
_MOST_LINKS = 32
_EMBEDDED = "embedded"
_AGENT = "nanobot"
_AS_IT_IS = Content()


def spans_of(
    run: Run, entries: Sequence[Entry], sent: Iterable[Sent] = (), content: Content = _AS_IT_IS
) -> list[Span]:
    """All spans of a run; a span without a known end ends with the run, or the last entry."""
    own = [entry for entry in entries if entry.run_id == run.id and entry.body is not None]
    derived = _Derived(run, own, content)
    spans = [*derived.segments(), *derived.messages(), *derived.parts()]
    spans += [derived.send(row) for row in sent]
    return sorted(spans, key=lambda span: (span.start, span.id))


def kept_of(entries: Iterable[Entry]) -> str:
    """What was kept of the request that began the run; see nanobot.propagation."""
    messages = (entry.body for entry in entries)
    return next((each.kept for each in messages if isinstance(each, UserEntry) and each.kept), "")


def _segments(own: Sequence[Entry]) -> list[list[Entry]]:
    """The entries of a run, split where it waited for a person: behind each question."""
    segments: list[list[Entry]] = [[]]
    for entry in own:
        if segments[-1] and isinstance(segments[-1][-1].body, ApprovalEntry):
            segments.append([])
        segments[-1].append(entry)
    return segments


class _Derived:
    """One derivation."""

    def __init__(self, run: Run, own: Sequence[Entry], content: Content) -> None:
        self._run = run
        self._own = own
        self._content = content
        self._cut = _segments(own)
        kept = kept_of(own)
        self._trace = trace_id(run.id, kept)
        self._caller = continued(kept)
        numbered = enumerate(self._cut)
        self._segment_of = {entry.seq: number for number, part in numbered for entry in part}
        self._call_ids = _call_ids(own)

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
                names.CONVERSATION_ID: hashed(run.session_key),
                names.SESSION_ID: hashed(run.session_key),
                names.USER_ID: hashed(person(run.address.channel, run.sender_id)),
                names.RUN_ID: run.id,
                names.RUN_KIND: str(run.kind),
                names.RUN_ORIGIN: str(run.origin),
                names.ROLE: str(run.role),
                names.SEGMENT: number,
            }
            if last:
                attributes[names.RUN_STATE] = str(run.state)
            if failed:
                attributes[names.ERROR_TYPE] = self._short(run.error or "failed")
            yield Span(
                trace=self._trace,
                id=self._segment_id(number),
                parent="" if self._caller is None else self._caller.span,
                name=f"{names.INVOKE_AGENT} {_AGENT}",
                start=start,
                end=max(start, end),
                attributes=attributes,
                error=self._short(run.error or "failed") if failed else "",
                links=tuple(self._links(number))[:_MOST_LINKS],
                events=tuple(self._events(part))[:_MOST_EVENTS],
            )

    def _links(self, number: int) -> Iterable[tuple[str, str]]:
        """What the segment follows: the one before it, and the requests of other programs."""
        if number:
            yield self._trace, self._segment_id(number - 1)
        for entry in self._cut[number]:
            if isinstance(entry.body, UserEntry):
                parent = linked(entry.body.kept) or continued(entry.body.kept)
                if parent is not None and parent != self._caller:
                    yield parent.trace, parent.span

    def messages(self) -> Iterable[Span]:
        """People's messages: from sending to their place in the log."""
        for entry in self._own:
            body = entry.body
            if isinstance(body, UserEntry):
                yield self._below(
                    entry,
                    "message",
                    entry.seq,
                    name=f"process {self._short(body.address.channel)}",
                    kind=CONSUMER,
                    start=min(body.sent_at, entry.at),
                    attributes=self._messaging(body.address.channel, "process"),
                )

    def parts(self) -> Iterable[Span]:
        """Model calls, tool calls and stages, including those that failed or that a crash cut."""
        run, last = self._run, max([self._run.created_at, *(entry.at for entry in self._own)])
        end = last if run.ended_at is None else max(run.ended_at, run.created_at)
        for part in parts_of(self._own, end, live=run.ended_at is None):
            begun, body = part.begun, part.entry.body
            if begun is not None and isinstance(begun.body, ModelCallEntry):
                yield self._call(part, begun, begun.body)
            elif isinstance(body, ToolStartedEntry | ToolResultEntry):
                yield self._tool(part, body)
            elif part.kind == "stage":
                yield self._stage(part)

    def _call(self, part: Part, begun: Entry, call: ModelCallEntry) -> Span:
        ended = None if part.ended is None else part.ended.body
        reply = ended if isinstance(ended, ReplyEntry) else None
        attributes: dict[str, Value] = {
            **self._model(call.profile),
            names.REQUEST_MAX_TOKENS: call.max_tokens,
            names.REQUEST_STREAM: True,
            **({names.REQUEST_TEMPERATURE: call.temperature} if call.profile.sampling else {}),
            **({} if call.effort == "default" else {names.REQUEST_REASONING: call.effort}),
            **_usage(part),
        }
        kind, error = _error(part), ""
        if isinstance(ended, FallbackEntry | OverflowEntry):
            kind = "model_error" if isinstance(ended, FallbackEntry) else "context_overflow"
            error = self._short(ended.text)
        elif reply is not None:
            kind = "cancelled" if reply.partial else kind
            attributes[names.FINISH_REASONS] = (reply.finish_reason,)
            if reply.first_ms > 0:
                attributes[names.FIRST_CHUNK] = min(reply.first_ms, _MOST_MS) / 1000
        before = [entry for entry in self._own if entry.seq < begun.seq]
        return self._below(
            begun,
            "call",
            call.call,
            name=f"{names.CHAT} {self._short(call.profile.name)}",
            kind=INTERNAL if call.profile.provider == _EMBEDDED else CLIENT,
            start=part.start,
            end=part.end,
            attributes=attributes | self._content.of_call(before, reply),
            error_type=kind,
            error=error,
        )

    def _tool(self, part: Part, body: ToolStartedEntry | ToolResultEntry) -> Span:
        result = body if isinstance(body, ToolResultEntry) else None
        key = (body.call, body.index)
        identity, arguments = self._call_ids.get(key, ("", None))
        name = self._short(body.name)
        facts = {} if result is None else result.facts
        attributes: dict[str, Value] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: name,
            names.TOOL_TYPE: "function",
            **({names.TOOL_CALL_ID: self._short(identity)} if identity else {}),
        }
        known = names.OF_FACTS.items()
        attributes |= {named: self._short(facts[fact]) for fact, named in known if fact in facts}
        verdict, _, rule = facts.get("policy", "").partition(" ")
        judged: dict[str, Value] = {
            names.POLICY_VERDICT: self._short(verdict),
            names.POLICY_RULE: self._short(rule),
        }
        return self._below(
            part.begun or part.entry,
            "tool",
            key,
            name=f"{names.EXECUTE_TOOL} {name}",
            kind=CLIENT if "mcp.method" in facts else INTERNAL,
            start=part.start,
            end=part.end,
            attributes=attributes | self._content.of_tool(arguments, result),
            error_type="denied" if verdict == "deny" else _error(part, "tool_error"),
            events=(SpanEvent(names.POLICY, part.start, judged),) if verdict else (),
        )

    def _stage(self, part: Part) -> Span:
        entry, body, error = part.entry, part.entry.body, ""
        attributes: dict[str, Value] = {names.OPERATION: names.CHAT, names.STAGE: part.name}
        title = names.CHAT
        if isinstance(body, RecallEntry):
            attributes, title = {names.OPERATION: names.SEARCH_MEMORY}, names.SEARCH_MEMORY
        elif isinstance(body, AuxiliaryFailedEntry):
            error = self._short(body.text)
        if part.profile is not None:
            attributes |= self._model(part.profile) | _usage(part)
            title = f"{names.CHAT} {self._short(part.profile.name)}"
        return self._below(
            entry,
            part.name,
            entry.seq,
            name=title,
            kind=INTERNAL if part.profile is None else CLIENT,
            start=part.start,
            end=part.end,
            attributes=attributes,
            error_type=_error(part, "model_error"),
            error=error,
        )

    def send(self, row: Sent) -> Span:
        """The delivery of a message, from its creation to the receipt. It links to the message
        that the run answers."""
        asked = next((e.seq for e in self._own if isinstance(e.body, UserEntry)), None)
        answers = () if asked is None else ((self._trace, self._id("message", asked)),)
        end = row.created_at if row.settled_at is None else row.settled_at
        attributes = self._messaging(row.channel, "send")
        attributes[names.MAYBE_DUPLICATE] = row.maybe_duplicate
        if row.error:
            attributes[names.ERROR_TYPE] = "not_delivered"
        return Span(
            trace=self._trace,
            id=self._id("send", row.key),
            parent=self._segment_id(len(self._cut) - 1),
            name=f"send {self._short(row.channel)}",
            kind=PRODUCER,
            start=row.created_at,
            end=max(row.created_at, end),
            attributes=attributes,
            error=self._short(row.error),
            links=answers,
        )

    def _events(self, segment: Sequence[Entry]) -> Iterable[SpanEvent]:
        for entry in segment:
            match entry.body:
                case ApprovalEntry(id=number, rule=rule):
                    asked: dict[str, Value] = {names.APPROVAL_ID: number}
                    if rule:
                        asked |= {names.POLICY_VERDICT: "ask", names.POLICY_RULE: self._short(rule)}
                    yield SpanEvent(names.APPROVAL_ASKED, entry.at, asked)
                case DecisionEntry(id=number, verdict=verdict):
                    decided: dict[str, Value] = {
                        names.APPROVAL_ID: number,
                        names.VERDICT: self._short(verdict),
                    }
                    yield SpanEvent(names.APPROVAL_DECIDED, entry.at, decided)
                case FeedbackEntry(verdict=verdict):
                    rated: dict[str, Value] = {
                        names.EVALUATION_NAME: "thumb",
                        names.EVALUATION_LABEL: str(verdict),
                    }
                    yield SpanEvent(names.EVALUATION, entry.at, rated)
                case _:
                    pass

    def _messaging(self, channel: str, operation: str) -> dict[str, Value]:
        return {
            names.MESSAGING_SYSTEM: self._short(channel),
            names.MESSAGING_OPERATION: operation,
            names.MESSAGING_OPERATION_TYPE: operation,
        }

    def _model(self, profile: ModelProfile) -> dict[str, Value]:
        return {
            names.OPERATION: names.CHAT,
            names.PROVIDER_NAME: self._short(names.provider_name(profile.provider)),
            names.REQUEST_MODEL: self._short(profile.name),
            names.CONVERSATION_ID: hashed(self._run.session_key),
        }

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
        error_type: str = "",
        error: str = "",
        events: tuple[SpanEvent, ...] = (),
    ) -> Span:
        """A span within the segment of an entry. It ends with the entry unless `end` is later."""
        if error_type:
            attributes = {**attributes, names.ERROR_TYPE: error_type}
        return Span(
            trace=self._trace,
            id=self._id(what, which),
            parent=self._segment_id(self._segment_of[entry.seq]),
            name=name,
            kind=kind,
            start=start,
            end=max(start, entry.at if end is None else end),
            attributes=attributes,
            error=error or error_type,
            events=events,
        )

    def _id(self, what: str, which: object) -> str:
        return span_id(self._run.id, what, which)

    def _segment_id(self, number: int) -> str:
        return self._id("segment", number)

    def _short(self, text: str) -> str:
        """Labels have a maximum length and no secrets: some contain text of people and
        platforms."""
        return self._content.text(" ".join(text.split()), _MOST_TEXT)


def _call_ids(own: Sequence[Entry]) -> dict[tuple[int, int], tuple[str, str]]:
    """The provider's id and the arguments of each tool call, by the model call and its index."""
    return {
        (entry.body.call, index): (call.id, call.arguments)
        for entry in own
        if isinstance(entry.body, ReplyEntry)
        for index, call in enumerate(entry.body.tool_calls)
    }


def _error(part: Part, failed: str = "failed") -> str:
    return {"failed": failed, "cut off": "interrupted"}.get(part.outcome, "")


def _usage(part: Part) -> dict[str, Value]:
    if part.usage is None:
        return {}
    known = part.usage.clamped()
    attributes: dict[str, Value] = {
        names.INPUT_TOKENS: known.prompt_tokens,
        names.OUTPUT_TOKENS: known.completion_tokens,
        names.CACHE_READ_TOKENS: known.cached_tokens,
        names.CACHE_WRITE_TOKENS: known.cache_write_tokens,
    }
    cost = part.cost
    if cost is not None and isfinite(cost):
        attributes[names.COST] = cost
    return attributes
