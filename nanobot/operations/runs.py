"""Operations on runs, messages owed, tool calls and chains as they are stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError
from nanobot.messages import Role
from nanobot.operations.conversation import told
from nanobot.operations.operation import (
    Arguments,
    Caller,
    First,
    Limit,
    Nothing,
    Operation,
    OperationContext,
)
from nanobot.operations.sessions import page_text
from nanobot.session.runs import Ending
from nanobot.session.states import RunKind, RunState, as_people_see
from nanobot.session.views import AuditView, OutboxView, RunPage, RunView, ToolCallView

_OfSession = Annotated[str, Meta(description="Only of this session.")]


# Runs


_BY_WORD = {
    as_people_see(state): str(state)
    for state in (RunState.AWAITING_HUMAN, RunState.COMPLETED, RunState.ABORTED)
}


class _ListRuns(Arguments, frozen=True, kw_only=True):
    session: _OfSession = ""
    state: Annotated[
        Literal[
            "",
            "live",
            "queued",
            "preparing",
            "model_running",
            "tool_running",
            "awaiting_human",
            "completed",
            "failed",
            "aborted",
            "waiting",
            "succeeded",
            "cancelled",
        ],
        Meta(description="Only in this state: live, waiting, succeeded, failed, cancelled ..."),
    ] = ""
    kind: Annotated[
        Literal["", "chat", "task"], Meta(description="Only of this kind: chat, task.")
    ] = ""
    limit: Limit = 20


class _Run(Arguments, frozen=True, kw_only=True):
    id: Annotated[First, Meta(description="The run.")]


async def _runs(operations: OperationContext, _: Caller, asked: _ListRuns) -> list[RunView]:
    records, state = operations.engine.records, _BY_WORD.get(asked.state, asked.state)
    return await records.runs(
        session=asked.session, state=state, limit=asked.limit, kind=asked.kind
    )


async def _run_of(operations: OperationContext, run_id: str) -> RunView:
    found = await operations.engine.records.run(run_id)
    if found is None:
        raise NanobotError(f"There is no run {run_id}; `runs list` shows those there are.")
    return found


async def _show_run(operations: OperationContext, _: Caller, asked: _Run) -> RunPage:
    found = await _run_of(operations, asked.id)
    return RunPage(run=found, entries=await operations.engine.records.run_entries(asked.id))


async def _cancel(operations: OperationContext, caller: Caller, asked: _Run) -> RunView:
    engine = operations.engine
    found = await _run_of(operations, asked.id)
    row = await engine.journal.session(found.session_key)
    live = None if row is None else row.run
    if live is None or live.id != asked.id:
        raise NanobotError(f"Run {asked.id} has ended already.")
    word = told(live.id, live.address, "This was cancelled.")
    partial = engine.partial(live.session_key)
    ending = Ending(
        state=RunState.ABORTED,
        bodies=() if partial is None else (partial,),
        outbound=(word,) if live.kind is RunKind.CHAT else (),
        error="cancelled",
    )
    ended = await engine.records.cancel(asked.id, ending, caller.by)
    if ended is None:
        raise NanobotError(f"Run {asked.id} has ended already.")
    engine.bus.stopped(ended)
    engine.bus.wake(ended.session_key, ended.kind)
    return await _run_of(operations, asked.id)


# The outbox


class _ListOutbox(Arguments, frozen=True, kw_only=True):
    state: Annotated[
        Literal[
            "",
            "preview",
            "held",
            "digested",
            "pending",
            "sending",
            "sent",
            "direct",
            "dead",
            "dropped",
        ],
        Meta(
            description="Only in this state: preview, held, digested, pending, sending, sent, "
            "direct, dead, dropped."
        ),
    ] = ""
    limit: Limit = 20


class _Owed(Arguments, frozen=True, kw_only=True):
    id: Annotated[int, Meta(ge=1, description="The message.")]


async def _outbox(operations: OperationContext, _: Caller, asked: _ListOutbox) -> list[OutboxView]:
    return await operations.engine.records.outbox(state=asked.state, limit=asked.limit)


async def _owed(operations: OperationContext, number: int) -> OutboxView:
    found = await operations.engine.records.owed(number)
    if found is None:
        raise NanobotError(f"There is no message {number}; `outbox list` shows those there are.")
    return found


async def _retry(operations: OperationContext, _: Caller, asked: _Owed) -> OutboxView:
    engine = operations.engine
    address = await engine.records.retry(asked.id)
    found = await _owed(operations, asked.id)
    if address is None:
        raise NanobotError(f"Message {asked.id} is {found.state}: only dead ones are sent again.")
    engine.bus.owed(address)
    return found


async def _drop(operations: OperationContext, _: Caller, asked: _Owed) -> OutboxView:
    dropped = await operations.engine.records.drop(asked.id)
    found = await _owed(operations, asked.id)
    if not dropped:
        raise NanobotError(f"Message {asked.id} is {found.state}: it cannot be dropped now.")
    return found


# Tools and chains


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may use; `effect` is none, store or world. `source`: built-in, plugin
    PACKAGE or mcp SERVER. `roles`: whose runs may use it, best first; the policy may still ask."""

    name: str
    source: str
    effect: str
    roles: list[Role]
    description: str
    parameters: dict[str, Any]


async def _tools(operations: OperationContext, _: Caller, __: Nothing) -> list[ToolView]:
    return [
        ToolView(
            name=spec.name,
            source=source,
            effect=str(tool.effect),
            roles=[role for role in Role if role in tool.allowed],
            description=spec.description,
            parameters=spec.parameters,
        )
        for tool, spec, source in operations.engine.tools.listed()
    ]


class _History(Arguments, frozen=True, kw_only=True):
    session: _OfSession = ""
    tool: Annotated[str, Meta(description="Only of this tool.")] = ""
    limit: Limit = 20


async def _history(operations: OperationContext, _: Caller, asked: _History) -> list[ToolCallView]:
    calls = operations.engine.records.tool_calls
    return await calls(session=asked.session, name=asked.tool, limit=asked.limit)


class _Audit(Arguments, frozen=True, kw_only=True):
    session: _OfSession = ""
    head: Annotated[str, Meta(description="A head noted earlier: some log must contain it.")] = ""


async def _audit(operations: OperationContext, _: Caller, asked: _Audit) -> list[AuditView]:
    return await operations.engine.records.audit(asked.session, asked.head)


def _audit_text(walked: list[AuditView], _: float) -> str:
    lines = [f"{one.session_key}: {one.entries} entries\n  {one.head}" for one in walked]
    return "\n".join([*lines, f"{len(walked)} log(s), and every chain holds."])


STORED: tuple[Operation, ...] = (
    Operation(
        name="runs list",
        help="lists runs, the newest first",
        run=_runs,
        arguments=_ListRuns,
        returns=list[RunView],
    ),
    Operation(
        name="runs show",
        help="shows a run step by step",
        run=_show_run,
        arguments=_Run,
        returns=RunPage,
        text=page_text,
    ),
    Operation(
        name="runs cancel",
        help="ends a run, and nothing else",
        run=_cancel,
        arguments=_Run,
        returns=RunView,
    ),
    Operation(
        name="outbox list",
        help="lists messages to chats and how their delivery stands",
        run=_outbox,
        arguments=_ListOutbox,
        returns=list[OutboxView],
    ),
    Operation(
        name="outbox retry",
        help="sends a dead message again",
        run=_retry,
        arguments=_Owed,
        returns=OutboxView,
    ),
    Operation(
        name="outbox drop",
        help="gives an unsent message up",
        run=_drop,
        arguments=_Owed,
        returns=OutboxView,
    ),
    Operation(
        name="tools list",
        help="lists what the model may do",
        run=_tools,
        returns=list[ToolView],
    ),
    Operation(
        name="tools history",
        help="lists the tool calls that were made",
        run=_history,
        arguments=_History,
        returns=list[ToolCallView],
    ),
    Operation(
        name="audit verify",
        help="checks that no log was changed or cut",
        run=_audit,
        arguments=_Audit,
        returns=list[AuditView],
        text=_audit_text,
    ),
)
