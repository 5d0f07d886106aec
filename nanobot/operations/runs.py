"""Operations on runs, messages to chats, tool calls and chains as they are stored."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.messages import Role
from nanobot.operations.conversation import stopped_notice
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Find, Limit, Positional
from nanobot.operations.remarks import as_entry
from nanobot.operations.rendering import Now
from nanobot.operations.sessions import check_sight, page_text
from nanobot.operations.timeline import RunPage, Times, timeline_of
from nanobot.session.runs import Ending
from nanobot.session.states import RunKind, RunState, as_people_see
from nanobot.session.views import AuditView, OutboxView, RunView, ToolCallView
from nanobot.text import Sentence

_OfSession: TypeAlias = Annotated[str, Meta(description="Filter by session.")]
RunId: TypeAlias = Annotated[
    Positional, Meta(description="The run's id, or a unique beginning of it.")
]
_MessageNumber: TypeAlias = Annotated[int, Meta(ge=1, description="The message.")]

# Runs

_MOST_NAMED = 3
_MOST_VERDICTS = 100

_BY_WORD = {
    as_people_see(state): str(state)
    for state in (RunState.AWAITING_HUMAN, RunState.COMPLETED, RunState.ABORTED)
}


async def run_of(context: OperationContext, caller: Caller, name: str) -> RunView:
    """The run of that id that the caller may see, or the only one whose id begins so; others have
    to give it whole. Raises NanobotError."""
    records = context.engine.records
    run = await records.run(name)
    if caller.role is not Role.OWNER:
        if run is None or not _is_seen(caller, run):
            raise UnknownId(f"You have no run {name}.")
        return run
    if run is not None:
        return run
    ids = await records.run_ids(name.lower(), _MOST_NAMED + 1)
    run = await records.run(ids[0]) if len(ids) == 1 else None
    if run is None and ids:
        names = ", ".join(ids[:_MOST_NAMED]) + (" ..." if len(ids) > _MOST_NAMED else "")
        raise UsageError(f"{name} matches several runs: {names}")
    if run is None:
        raise UnknownId(f"There is no run {name}; `runs list` lists them.")
    return run


def _is_seen(caller: Caller, run: RunView) -> bool:
    """Whether somebody may see a run: it is of their conversation, or was started there."""
    return any(caller.sees(key) for key in (run.session_key, run.parent_session) if key)


@operation(
    "runs list",
    reads=True,
    role=Role.MEMBER,
    example="state=failed",
    shows=("runs", "tasks"),
)
async def list_runs(  # noqa: PLR0913 - each is one argument of people
    context: OperationContext,
    caller: Caller,
    session: _OfSession = "",
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
        Meta(description="Filter by state."),
    ] = "",
    kind: Annotated[Literal["", "chat", "task"], Meta(description="Filter by kind.")] = "",
    find: Find = "",
    limit: Limit = 20,
) -> list[RunView]:
    """List runs, newest first.

    `find` searches session names, titles and errors of the latest 10,000 runs. Background runs that
    a session started are listed with it. The state `live` means every run that has not ended.
    """
    if session:
        check_sight(caller, session)
    return await context.engine.conversations.runs(
        session=session,
        state=_BY_WORD.get(state, state),
        limit=limit,
        kind=kind,
        find=find,
        within=None if session else caller.sessions,
    )


@operation("runs show", reads=True, role=Role.MEMBER, text=page_text, example="01m80aj3rq")
async def show_run(context: OperationContext, caller: Caller, id: RunId) -> RunPage:
    """Show a run step by step.

    Above the log entries is a waterfall of the 40 longest steps: model calls with the time to the
    first word, tokens and cost, tools, waits and the delivery. The first line says what took most
    of a run of more than a second. `cut off` means interrupted by a crash. Lines that begin with
    `!` are remarks of plugins.
    """
    run, engine = await run_of(context, caller, id), context.engine
    records = engine.records
    views = await records.run_entries(run.id)
    entries = [as_entry(view) for view in views]
    times = Times(run_id=run.id, created_at=run.created_at, ended_at=run.ended_at)
    sent = await records.deliveries(run.id)
    return RunPage(
        run=run,
        entries=views,
        feedback=tuple(await records.feedback(run.id, _MOST_VERDICTS)),
        timeline=timeline_of(times, entries, sent, engine.now()),
        remarks=await engine.remarks.on(run.id, views),
    )


@operation("runs cancel", role=Role.MEMBER, example="01m80aj3rq")
async def cancel_run(context: OperationContext, caller: Caller, id: RunId) -> RunView:
    """Cancel one run.

    The messages that wait behind it are processed.
    """
    engine = context.engine
    run = await run_of(context, caller, id)
    row = await engine.journal.session(run.session_key)
    live = None if row is None else row.run
    if live is None or live.id != run.id:
        raise NanobotError(f"Run {run.id} has ended already.")
    notice = stopped_notice(live.id, live.address, "Cancelled.")
    partial = engine.partial(live.session_key)
    ending = Ending(
        state=RunState.ABORTED,
        bodies=() if partial is None else (partial,),
        outbound=(notice,) if live.kind is RunKind.CHAT else (),
        error="cancelled",
    )
    ended = await engine.records.cancel(run.id, ending, caller.by)
    if ended is None:
        raise NanobotError(f"Run {run.id} has ended already.")
    engine.bus.stopped(ended)
    engine.bus.wake(ended.session_key, ended.kind)
    return await run_of(context, caller, run.id)


# The outbox


async def _message_of(context: OperationContext, number: int) -> OutboxView:
    message = await context.engine.records.owed(number)
    if message is None:
        raise UnknownId(f"There is no message {number}; `outbox list` lists them.")
    return message


@operation(
    "outbox list",
    reads=True,
    example="state=dead",
    shows=("outbound", "outbound_parts", "voice_answers"),
)
async def list_outbox(
    context: OperationContext,
    _: Caller,
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
        Meta(description="Filter by state."),
    ] = "",
    limit: Limit = 20,
) -> list[OutboxView]:
    """List outgoing messages and their delivery state.

    The platform refused a `dead` message, or could not be reached for a day. A notification can be
    `held` or `digested`. Answers that a program got directly have the state `direct` and are listed
    only with it.
    """
    return await context.engine.records.outbox(state=state, limit=limit)


@operation("outbox retry", example="17")
async def retry_message(context: OperationContext, _: Caller, id: _MessageNumber) -> OutboxView:
    """Retry a message whose delivery failed."""
    engine = context.engine
    address = await engine.records.retry(id)
    message = await _message_of(context, id)
    if address is None:
        raise NanobotError(f"Message {id} is {message.state}: only dead messages can be retried.")
    engine.bus.owed(address)
    return message


@operation("outbox drop", example="17")
async def drop_message(context: OperationContext, _: Caller, id: _MessageNumber) -> OutboxView:
    """Discard an unsent message."""
    dropped = await context.engine.records.drop(id)
    message = await _message_of(context, id)
    if not dropped:
        raise NanobotError(f"Message {id} is {message.state}: it cannot be dropped now.")
    return message


# Tools and chains


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may use; `effect` is none, store or world. `source`: built-in, plugin
    PACKAGE or mcp SERVER. `roles`: whose runs may use it, best first; the policy may still ask."""

    SHOWN: ClassVar[tuple[str, ...]] = ("name", "description", "roles", "effect", "source")

    name: str
    source: str
    effect: str
    roles: list[Role]
    description: str
    parameters: dict[str, Any]


@operation("tools list", reads=True)
async def list_tools(context: OperationContext, _: Caller) -> list[ToolView]:
    """List the tools that the model may use."""
    return [
        ToolView(
            name=spec.name,
            source=source,
            effect=str(tool.effect),
            roles=[role for role in Role if role in tool.allowed],
            description=spec.description,
            parameters=spec.parameters,
        )
        for tool, spec, source in context.engine.tools.listed()
    ]


@operation("tools history", reads=True, example="tool=exec limit=50", shows=("entries",))
async def list_tool_calls(
    context: OperationContext,
    _: Caller,
    session: _OfSession = "",
    tool: Annotated[str, Meta(description="Filter by tool.")] = "",
    limit: Limit = 20,
) -> list[ToolCallView]:
    """List past tool calls."""
    return await context.engine.records.tool_calls(session=session, name=tool, limit=limit)


def _audit_text(logs: list[AuditView], _: Now) -> Sentence:
    lines = [f"{log.session_key}: {log.entries} entries\n  {log.head}" for log in logs]
    return "\n".join([*lines, f"{len(logs)} log(s); every hash chain is intact."])


@operation("audit verify", reads=True, text=_audit_text, slow=True)
async def verify_logs(
    context: OperationContext,
    _: Caller,
    session: _OfSession = "",
    head: Annotated[
        str, Meta(description="A hash noted earlier: one of the logs must contain it.")
    ] = "",
) -> list[AuditView]:
    """Verify that no log was changed or cut.

    A head that you note down proves later that nothing before it was changed or removed. Exits with
    4 if a log was changed.
    """
    return await context.engine.records.audit(session, head)
