"""Runs for programs: what they ask for, what they get, and the client that follows a run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from nanobot.agent.worker import Worker
from nanobot.bus.core import Bus, Subscription
from nanobot.errors import NanobotError, RunConflict, UsageError
from nanobot.messages import (
    Address,
    EventKind,
    InboundMessage,
    Origin,
    Role,
    RunEvent,
    RunOptions,
    Sender,
)
from nanobot.ports import Clock, Ids
from nanobot.session.inbox import Admission
from nanobot.session.journal import Journal
from nanobot.session.runs import Ending, RunOutcome, RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.text import MAX_TEXT, clean, without_controls

_LOOK_SECONDS = 1.0


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABORTED})


class RunClient:
    """Asks for runs in the lanes of an agent, by messages that bring the run's id with them.

    `attends` says whether the asker has to drive the lane itself, because nobody else serves.
    """

    def __init__(self, bus: Bus, worker: Worker, clock: Clock, attends: Callable[[], bool]) -> None:
        self._bus = bus
        self._worker = worker
        self._clock = clock
        self._attends = attends

    @asynccontextmanager
    async def followed(
        self, message: InboundMessage, session_key: str
    ) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Ask, and follow the run to its end: the last event is the one of kind `end`.

        Whoever asks for a known id follows the run that has it. Raises RunConflict when that was
        asked for with other input. Whoever leaves early leaves the run as it is: it goes on with
        whoever serves its lane next.
        """
        run_id = message.dedupe_key
        watching = self._bus.subscribe(session_key)
        try:
            await self._admit(message, session_key)
            work = self._follow(watching, message.address, run_id)
            following = asyncio.get_running_loop().create_task(work, name=f"follow run {run_id}")
            try:
                yield _of_run(watching, run_id)
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
                self._bus.wake(session_key, RunKind.CHAT)
        finally:
            self._bus.unsubscribe(watching)

    async def outcome(self, address: Address, run_id: str) -> RunOutcome | None:
        """How far a run has come that was asked for from there."""
        return await self._bus.journal.outcome(address, run_id)

    async def abort(self, address: Address, run_id: str) -> bool:
        """End a run, or take back what was asked, for good. False: it had ended, or is unknown."""
        outcome = await self.outcome(address, run_id)
        if outcome is None or outcome.state in ENDED:
            return False
        partial = self._worker.partial(outcome.session_key)
        last = () if partial is None or outcome.state is RunState.QUEUED else (partial,)
        ending = Ending(state=RunState.ABORTED, bodies=last, error="aborted")
        ended = await self._bus.journal.abort(address, run_id, ending)
        if ended is not None:
            self._bus.stopped(ended)
        self._bus.wake(outcome.session_key, RunKind.CHAT)
        return True

    async def _admit(self, message: InboundMessage, session_key: str) -> None:
        text = without_controls(message.text)
        if not (text.strip() or message.attachments) or len(text) > MAX_TEXT:
            raise UsageError(f"a message has 1 to {MAX_TEXT:,} characters")
        request = msgspec.structs.replace(message, text=text)
        admission = Admission(message=request, session_key=session_key, role=Role.OWNER)
        (taken,) = await self._bus.admit(message.address.channel, [admission])
        if taken.refused:
            raise NanobotError(f"too much is waiting in {session_key} already; it was not taken")
        if taken.fresh:
            return
        outcome = await self.outcome(message.address, message.dedupe_key)
        if (
            outcome is None
            or outcome.session_key != session_key
            or not _same(outcome.message, request)
        ):
            raise RunConflict(f"run {message.dedupe_key} was asked for with other input")

    async def _follow(self, watching: Subscription, address: Address, run_id: str) -> None:
        """Serve the lane if nobody does; say that the run ended if nobody here saw it."""
        while True:
            outcome = await self.outcome(address, run_id)
            if outcome is None:
                return
            if outcome.state in ENDED:
                watching.offer(end_of(outcome, self._bus.next_seq(run_id), self._clock.now()))
                return
            if not self._attends() or not await self._worker.attend(outcome.session_key):
                await self._clock.sleep(_LOOK_SECONDS)


def end_of(outcome: RunOutcome, seq: int, at: float) -> RunEvent:
    """The last event of a run, from what is recorded."""
    return RunEvent(
        run_id=outcome.run_id,
        session_key=outcome.session_key,
        model_call=outcome.usage.model_calls,
        seq=seq,
        kind=EventKind.END,
        at=at,
        payload={"state": str(outcome.state), "text": outcome.text, "error": outcome.error},
    )


def _same(message: InboundMessage, other: InboundMessage) -> bool:
    return (message.text, message.terms) == (other.text, other.terms)


async def _of_run(watching: Subscription, run_id: str) -> AsyncIterator[RunEvent]:
    async for event in watching:
        if event.run_id == run_id:
            yield event
            if event.kind is EventKind.END:
                return


WHERE = Address("api", "runs")
"""What programs ask comes from one place, so that a run's id is known whatever its session."""


_ME = Sender("local", "you")


class ToolPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may do with tools. Calls with effects are made one after another, others side by
    side, `max_parallel` of them at a time (None: as many as usual).

    `require_approval_by_default`: the run waits at each call that no rule of the configuration
    allows. An event of kind `approval` has its `id`, and Agent.decide the answer."""

    enabled: bool = True
    allow_list: tuple[str, ...] | None = None
    max_parallel: int | None = None
    max_calls_per_run: int | None = None
    require_approval_by_default: bool = False


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run may go; None is as configured."""

    max_iterations: int | None = None
    max_tool_rounds: int | None = None
    max_run_ms: int | None = None


class RunInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a program asks for.

    The last of `messages` ({"role": "user", "content": TEXT}) is the question; messages before it
    are the past that the model sees instead of the session's own. Without `session_key` the run
    has a session of its own. `run_id` is the caller's name for the run, made up if it is empty.
    `runtime_init_data` and `runtime_hints` stand, sorted, at the end of the system prompt.
    """

    messages: Sequence[Mapping[str, str]]
    session_key: str = ""
    run_id: str = ""
    system_prompt_override: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    tool_order: tuple[str, ...] = ()
    tool_policy: ToolPolicy = ToolPolicy()
    limits: RunLimits = RunLimits()
    auto_create_session: bool = True
    runtime_init_data: Mapping[str, str] = {}
    runtime_hints: Mapping[str, str] = {}


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: completed, failed or aborted. `message` is its final answer, or the line
    why there is none; `error` names what went wrong."""

    session_key: str
    run_id: str
    status: RunState
    message: str
    error: str | None = None
    usage: RunUsage = RunUsage()


class RunService:
    """Runs for programs, in the lanes of one agent."""

    def __init__(self, client: RunClient, journal: Journal, clock: Clock, ids: Ids) -> None:
        self._client = client
        self._journal = journal
        self._clock = clock
        self._ids = ids

    async def stream(self, request: RunInput) -> AsyncGenerator[RunEvent | RunResult, None]:
        """The run's events from now on, then its result. A known id attaches, or gives the result
        that is recorded. Raises RunConflict for a known id with other input, and UsageError for
        what is wrong with it or cannot be done."""
        message, session_key = self._message(request)
        outcome = await self._client.outcome(WHERE, message.dedupe_key)
        missing = outcome is None and await self._journal.session(session_key) is None
        if missing and not request.auto_create_session:
            raise UsageError(f"session_key: there is no session {session_key}")
        async with self._client.followed(message, session_key) as events:
            async for event in events:
                yield event
        yield await self._result(message.dedupe_key)

    async def abort(self, run_id: str, asked_from: Address = WHERE) -> bool:
        """End the run for good; False if it had ended. Raises UsageError for an unknown one."""
        if await self._client.outcome(asked_from, run_id) is None:
            raise UsageError(f"run_id: no program asked for a run {run_id}")
        return await self._client.abort(asked_from, run_id)

    async def _result(self, run_id: str) -> RunResult:
        outcome = await self._client.outcome(WHERE, run_id)
        if outcome is None:
            raise UsageError(f"run {run_id} was deleted")
        return RunResult(
            session_key=outcome.session_key,
            run_id=run_id,
            status=outcome.state,
            message=outcome.text,
            error=outcome.error,
            usage=outcome.usage,
        )

    def _message(self, request: RunInput) -> tuple[InboundMessage, str]:
        _check(request)
        run_id = request.run_id or self._ids.run_id()
        session_key = request.session_key or f"api:{run_id}"
        *past, question = request.messages
        terms = RunOptions(
            run_id=run_id,
            digest=_digest(request),
            direct=True,
            max_iterations=request.limits.max_iterations,
            max_tool_rounds=request.limits.max_tool_rounds,
            max_run_seconds=_seconds(request.limits.max_run_ms),
            max_tool_calls=request.tool_policy.max_calls_per_run,
            max_parallel=request.tool_policy.max_parallel,
            approve=request.tool_policy.require_approval_by_default,
            tools=_tools(request),
            tool_order=tuple(request.tool_order),
            system_prompt=request.system_prompt_override,
            extra_instructions=_instructions(request),
            history=tuple((earlier["role"], earlier["content"]) for earlier in past)
            if past
            else None,
        )
        message = InboundMessage(
            address=WHERE,
            message_id=run_id,
            dedupe_key=run_id,
            sender=_ME,
            text=question["content"],
            sent_at=self._clock.now(),
            origin=Origin.API,
            terms=terms,
        )
        return message, session_key


def _check(request: RunInput) -> None:
    """Raises UsageError naming what is wrong."""
    if not request.messages or request.messages[-1].get("role") != "user":
        raise UsageError("messages: the last one is the question and has the role user")
    for message in request.messages:
        text, role = message.get("content"), message.get("role")
        if role not in ("user", "assistant") or not isinstance(text, str):
            raise UsageError("messages: each has a role (user or assistant) and content (text)")
    if not request.session_key and not request.auto_create_session:
        raise UsageError("session_key: name one, or let auto_create_session be true")
    limits, most = request.limits, request.tool_policy.max_calls_per_run
    for name, least, value in (
        ("limits.max_iterations", 1, limits.max_iterations),
        ("limits.max_tool_rounds", 0, limits.max_tool_rounds),
        ("limits.max_run_ms", 1, limits.max_run_ms),
        ("tool_policy.max_calls_per_run", 0, most),
        ("tool_policy.max_parallel", 1, request.tool_policy.max_parallel),
    ):
        if value is not None and value < least:
            raise UsageError(f"{name}: at least {least}")


def _digest(request: RunInput) -> str:
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def _instructions(request: RunInput) -> str:
    """What the caller gives the run to know, the same bytes for the same data."""
    parts = []
    for head, values in (
        ("What is known for this run:", request.runtime_init_data),
        ("Hints for this run:", request.runtime_hints),
    ):
        if values:
            lines = [f"- {key}: {values[key]}" for key in sorted(values)]
            parts.append("\n".join([head, *lines]))
    return clean("\n\n".join(parts))


def _tools(request: RunInput) -> tuple[str, ...] | None:
    """What both lists allow; None: all."""
    allowed, policy = request.allowed_tools, request.tool_policy
    if not policy.enabled:
        return ()
    if policy.allow_list is None:
        return None if allowed is None else tuple(sorted(set(allowed)))
    both = set(policy.allow_list if allowed is None else allowed) & set(policy.allow_list)
    return tuple(sorted(both))
