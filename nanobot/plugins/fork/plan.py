"""What a fork is made of: the request, the source in the parent's log, and the copied entries."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Role, RunOptions
from nanobot.plugins.common.runs.recorded import Otherwise
from nanobot.providers.base import Usage
from nanobot.session.entries import (
    AuxiliaryFailedEntry,
    Body,
    ErasedEntry,
    ModelCallEntry,
    ReplyEntry,
    SummaryEntry,
    UserEntry,
)
from nanobot.session.runs import Run

BEGIN = 2
"""The first copied entry of a fork; before it stands where the fork comes from."""
LEFT_OUT = (
    *("feedback", "remember", "tool_started", "approval", "decision", "cancel", "triage"),
    *("fork", "prompt"),
)
"""Kinds of entries that a fork does not share: no model sees them, and they would be about
calls and questions of the parent."""
_LONGEST = 100_000


class CannotFork(NanobotError):
    """An entry that the fork would share cannot be read."""


class ForkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a fork. Empty values: as in the parent's run."""

    at: int | None = None
    """The last entry that it shares; None: the last one before the first model call."""
    model: str = ""
    prompt: str = ""
    say: str = ""
    results: dict[str, str] = {}
    """Given results, by tool."""
    otherwise: Otherwise = Otherwise.COPY
    by: str = ""
    """The person who asks for it."""
    role: Role = Role.OWNER
    """That person's."""
    asked: str = ""
    """The same for a repeated order, which makes no second fork."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fork comes from: the run, the entries `start` to `at` of its session, the hash of the
    chain at `at`, and what its model calls used there. `last`: the last entry of the run.
    """

    run: Run
    title: str
    start: int
    at: int
    head: str
    last: int
    options: RunOptions
    model: str
    prompt: str
    variant: str | None
    has_prompt: bool


class ForkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A fork to make. `only_own`: the run brings its history, so it sees its own entries only."""

    source: Source
    request: ForkRequest
    options: RunOptions

    @property
    def only_own(self) -> bool:
        return self.options.history is not None

    @property
    def role(self) -> Role:
        """The role of the fork's run: at most that of the person who asks for it."""
        run, asking = self.source.run.role, self.request.role
        return asking if run is Role.OWNER else run

    @property
    def sender(self) -> str:
        """The person for whom it works."""
        run = self.source.run
        return run.sender_id if self.role is run.role else self.request.by


def plan_of(source: Source, request: ForkRequest) -> ForkPlan:
    """The plan, with the options of the fork's run. Raises UsageError."""
    if source.at < source.run.first_seq and not request.say:
        raise UsageError(
            f"at: entry {source.at} comes before the first message of run {source.run.id}: "
            "add --say to ask something else instead"
        )
    asks = request.otherwise is Otherwise.ASK
    options = replace(
        source.options,
        run_id="",
        digest="",
        direct=True,
        unattended=not asks,
        approve=asks,
        model=request.model or source.model,
        type="",
        input="",
        system_prompt=request.prompt or source.options.system_prompt,
    )
    return ForkPlan(source=source, request=request, options=options)


def copied(body: Body, plan: ForkPlan, *, own: bool, upto: int, first: bool) -> Body:
    """An entry as the fork shares it. What its own run did before costs nothing and takes no time
    there: it was paid for by the parent. `upto`: the last entry that a summary covers.
    """
    changes: dict[str, Any] = {}
    match body:
        case UserEntry():
            options = (plan.options if first else None) if own else body.options
            changes = {"inbound_id": 0, "message_id": "", "reply_to": None, "options": options}
        case ModelCallEntry():
            changes = {"window_from": BEGIN}
        case ReplyEntry():
            changes = {"request": ""} | ({"usage": Usage(), "first_ms": 0} if own else {})
        case SummaryEntry():
            changes = {"covers_from": 1, "upto": upto} | ({"usage": None} if own else {})
        case ErasedEntry():
            changes = {"seq": 0, "last": 0}
        case AuxiliaryFailedEntry() if own:
            changes = {"usage": None}
    if own and "ms" in body.__struct_fields__:
        changes["ms"] = 0
    return replace(body, **changes)


def results_of(text: str) -> dict[str, str]:
    """The given results: `NAME=RESULT`, or a JSON object of several. Raises UsageError."""
    if not text.strip():
        return {}
    if text.lstrip().startswith("{"):
        try:
            given = msgspec.json.decode(text, type=dict[str, str])
        except msgspec.DecodeError as error:
            raise UsageError(f"tool: this is no JSON object of texts: {error}") from None
    else:
        name, equals, result = text.partition("=")
        if not equals:
            raise UsageError('tool: write NAME=RESULT, or several as JSON: {"NAME": "RESULT"}')
        given = {name.strip(): result}
    if "" in given:
        raise UsageError("tool: the name of the tool is missing")
    if any(len(result) > _LONGEST for result in given.values()):
        raise UsageError(f"tool: a result has at most {_LONGEST:,} characters")
    return given
