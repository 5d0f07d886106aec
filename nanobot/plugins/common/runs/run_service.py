"""Runs for programs, in the lanes of one agent."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import AsyncGenerator

import msgspec

from nanobot.addresses import OWNER_ID, THE_OWNER
from nanobot.agent.worker import Worker
from nanobot.bus.core import Bus
from nanobot.errors import UsageError
from nanobot.labels import NOTHING, Label
from nanobot.messages import (
    Address,
    Attachment,
    InboundMessage,
    Origin,
    RunEvent,
    RunOptions,
    Sender,
)
from nanobot.plugins.common.files.local_files import given
from nanobot.plugins.common.runs.checked_input import Content, checked, read
from nanobot.plugins.common.runs.programs import WHERE as WHERE
from nanobot.plugins.common.runs.run_client import RunClient
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.store.requested_runs import RunOutcome
from nanobot.ports import Clock, Ids
from nanobot.session.journal import Journal
from nanobot.text import clean, quoted
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.received import Received

_ME = Sender(OWNER_ID, THE_OWNER)


class RunService:
    """Runs for programs, in the lanes of one agent."""

    def __init__(
        self,
        client: RunClient,
        journal: Journal,
        tools: ToolRegistry,
        received: Received | None,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._client = client
        self._journal = journal
        self._tools = tools
        self._received = received
        self._clock = clock
        self._ids = ids

    async def stream(
        self, request: RunInput, label: Label = NOTHING
    ) -> AsyncGenerator[RunEvent | RunResult, None]:
        """The run's events from now on, then its result. A known id attaches to its run, or gives
        the recorded result. `label`: who speaks, if not the owner. Raises RunConflict for a known
        id with other input, and UsageError for an invalid request."""
        request = checked(request)
        run_id = request.run_id or self._ids.run_id()
        session_key = request.session_key or f"api:{run_id}"
        message = self._message(request, run_id)
        if label != NOTHING:
            encoded, tainted = label.encoded(), label.tainted
            message = msgspec.structs.replace(message, tainted=tainted, label=encoded)
        if await self._client.outcome(WHERE, run_id) is None:
            await self._check_new(request, session_key)
            pictures = await self._pictures(request)
            message = msgspec.structs.replace(message, attachments=pictures)
        async with self._client.followed(message, session_key) as events:
            async for event in events:
                yield event
        yield await self._result(message.dedupe_key)

    async def abort(self, run_id: str, asked_from: Address = WHERE) -> bool:
        """End the run permanently; False if it had ended. Raises UsageError for an unknown one."""
        if await self._client.outcome(asked_from, run_id) is None:
            raise UsageError(f"run_id: no program asked for a run {run_id}")
        return await self._client.abort(asked_from, run_id)

    async def outcome(self, run_id: str) -> RunOutcome | None:
        """The state of a run that a program requested; None for an unknown one."""
        return await self._client.outcome(WHERE, run_id)

    async def _result(self, run_id: str) -> RunResult:
        outcome = await self.outcome(run_id)
        if outcome is None:
            raise UsageError(f"run {run_id} was deleted")
        return result_of(outcome)

    async def _check_new(self, request: RunInput, session_key: str) -> None:
        """Raises UsageError for options that only a new run can have."""
        if not request.auto_create_session and await self._journal.session(session_key) is None:
            raise UsageError(f"session_key: there is no session {session_key}")
        known_tools = [spec.name for spec in self._tools.specs()]
        for field, names in (
            ("allowed_tools", request.allowed_tools),
            ("tool_policy.allow_list", request.tool_policy.allow_list),
            ("tool_order", request.tool_order),
        ):
            for name in names or ():
                if name not in known_tools:
                    near = difflib.get_close_matches(name[:64], known_tools, n=1)
                    hint = (
                        f"; did you mean {near[0]}?" if near else f": {', '.join(known_tools)} are"
                    )
                    raise UsageError(f"{field}: there is no tool {quoted(name, 64)}{hint}")

    async def _pictures(self, request: RunInput) -> tuple[Attachment, ...]:
        """All pictures of the input belong to its question, those of earlier messages first."""
        pictures = [data for message in request.messages for data in read(message).pictures]
        if not pictures:
            return ()
        if self._received is None:
            raise UsageError("messages: this nanobot does not accept pictures")
        now = self._clock.now()
        return tuple([await given(self._received, data, now) for data in pictures])

    def _message(self, request: RunInput, run_id: str) -> InboundMessage:
        *past, question = (read(message) for message in request.messages)
        limits, policy = request.limits, request.tool_policy
        options = RunOptions(
            run_id=run_id,
            digest=_digest(request),
            direct=True,
            max_iterations=limits.max_iterations,
            max_tool_rounds=limits.max_tool_rounds,
            max_run_seconds=None if limits.max_run_ms is None else limits.max_run_ms / 1000,
            max_tool_calls=policy.max_calls_per_run,
            max_parallel=policy.max_parallel,
            approve=policy.require_approval_by_default,
            tools=_tools(request),
            tool_order=tuple(request.tool_order),
            system_prompt=request.system_prompt_override,
            extra_instructions=_instructions(request),
            history=tuple(map(_as_history, past)) if past else None,
        )
        return InboundMessage(
            address=WHERE,
            message_id=run_id,
            dedupe_key=run_id,
            sender=_ME,
            text=question.text,
            sent_at=self._clock.now(),
            origin=Origin.API,
            options=options,
        )


def result_of(outcome: RunOutcome) -> RunResult:
    """The outcome in the form for programs."""
    return RunResult(
        session_key=outcome.session_key,
        run_id=outcome.run_id,
        status=outcome.state,
        message=outcome.text,
        error=outcome.error,
        usage=outcome.usage,
    )


def _as_history(content: Content) -> tuple[str, str]:
    count = len(content.pictures)
    note = f"[{count} picture{'s' if count > 1 else ''}, shown with the last message]"
    return content.role, "\n".join(filter(None, (content.text, note if count else "")))


def _digest(request: RunInput) -> str:
    return hashlib.sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()


def _instructions(request: RunInput) -> str:
    """The caller's data for the system prompt: the same bytes for the same data."""
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
    """The tools that both lists allow; None: all."""
    allowed, policy = request.allowed_tools, request.tool_policy
    if not policy.enabled:
        return ()
    if policy.allow_list is None:
        return None if allowed is None else tuple(sorted(set(allowed)))
    both = set(policy.allow_list if allowed is None else allowed) & set(policy.allow_list)
    return tuple(sorted(both))


def runs_for_programs(
    bus: Bus,
    worker: Worker,
    tools: ToolRegistry,
    received: Received | None,
    clock: Clock,
    ids: Ids,
) -> RunService:
    """The runs for programs of one agent."""
    client = RunClient(bus, worker, clock, lambda: False)
    return RunService(client, bus.journal, tools, received, clock, ids)
