"""The events of a run, one class per kind: type checkers know the payload from the kind
or class."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from nanobot.messages import Address, EventKind, RunEvent


class StatusPayload(TypedDict, total=False):
    """The state of the run. The other keys depend on `state`."""

    state: str
    text: str
    why: str
    model: str
    delay: float
    address: Address
    reply_key: str
    reply_to: str | None
    inbound_ids: list[int]


class DeltaPayload(TypedDict, total=False):
    """A piece of the answer, or of the reasoning behind it."""

    text: str
    reasoning: str


class AssistantMessagePayload(TypedDict):
    """The whole text of a model call, how many tool calls it asks for, and how long its first
    piece and all of it took. Where triage answers, there are no times."""

    text: str
    tool_calls: int
    model: NotRequired[str]
    ms: NotRequired[int]
    first_ms: NotRequired[int]


class ToolCallPayload(TypedDict):
    """A call begins; `arguments` is the model's JSON."""

    key: str
    name: str
    arguments: str


class ToolResultPayload(TypedDict):
    """How a call ended, with the whole text that the model gets."""

    key: str
    name: str
    ok: bool
    text: str
    ms: int


class ApprovalPayload(TypedDict):
    """A question to a person; pass `id` to `Agent.decide`."""

    id: int
    tool: str
    arguments: str
    why: str
    question: str
    choices: tuple[str, ...]


class ErrorPayload(TypedDict):
    """An error: its name and its message."""

    error: str | None
    text: str


class _Ended(TypedDict):
    state: str
    text: str
    error: str | None


class EndPayload(_Ended, total=False):
    """How the run ended. A recorded run has no `message_ids` and no `cost`."""

    message_ids: list[str]
    usage: dict[str, int]
    cost: float | None


class StatusEvent(RunEvent, frozen=True, kw_only=True):
    """See StatusPayload."""

    kind: Literal[EventKind.STATUS]
    payload: StatusPayload  # type: ignore[assignment]


class ModelDelta(RunEvent, frozen=True, kw_only=True):
    """See DeltaPayload."""

    kind: Literal[EventKind.MODEL_DELTA]
    payload: DeltaPayload  # type: ignore[assignment]


class AssistantMessage(RunEvent, frozen=True, kw_only=True):
    """See AssistantMessagePayload."""

    kind: Literal[EventKind.ASSISTANT_MESSAGE]
    payload: AssistantMessagePayload  # type: ignore[assignment]


class ToolCallEvent(RunEvent, frozen=True, kw_only=True):
    """See ToolCallPayload."""

    kind: Literal[EventKind.TOOL_CALL]
    payload: ToolCallPayload  # type: ignore[assignment]


class ToolResult(RunEvent, frozen=True, kw_only=True):
    """See ToolResultPayload."""

    kind: Literal[EventKind.TOOL_RESULT]
    payload: ToolResultPayload  # type: ignore[assignment]


class ApprovalEvent(RunEvent, frozen=True, kw_only=True):
    """See ApprovalPayload."""

    kind: Literal[EventKind.APPROVAL]
    payload: ApprovalPayload  # type: ignore[assignment]


class ErrorEvent(RunEvent, frozen=True, kw_only=True):
    """See ErrorPayload."""

    kind: Literal[EventKind.ERROR]
    payload: ErrorPayload  # type: ignore[assignment]


class EndEvent(RunEvent, frozen=True, kw_only=True):
    """See EndPayload."""

    kind: Literal[EventKind.END]
    payload: EndPayload  # type: ignore[assignment]


AnyRunEvent: TypeAlias = (
    StatusEvent
    | ModelDelta
    | AssistantMessage
    | ToolCallEvent
    | ToolResult
    | ApprovalEvent
    | ErrorEvent
    | EndEvent
)
CLASSES: dict[EventKind, type[RunEvent]] = {
    EventKind.STATUS: StatusEvent,
    EventKind.MODEL_DELTA: ModelDelta,
    EventKind.ASSISTANT_MESSAGE: AssistantMessage,
    EventKind.TOOL_CALL: ToolCallEvent,
    EventKind.TOOL_RESULT: ToolResult,
    EventKind.APPROVAL: ApprovalEvent,
    EventKind.ERROR: ErrorEvent,
    EventKind.END: EndEvent,
}


def typed(event: RunEvent) -> AnyRunEvent:
    """The event as one of its kind."""
    fields = {name: getattr(event, name) for name in RunEvent.__struct_fields__}
    made: AnyRunEvent = CLASSES[event.kind](**fields)  # type: ignore[assignment]
    return made
