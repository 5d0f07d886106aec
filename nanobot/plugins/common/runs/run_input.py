"""The request of a program for a run, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from nanobot.session.runs import RunUsage
from nanobot.session.states import RunState


class ToolPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a run may use. Calls with effects are made one after another, others in
    parallel, at most `max_parallel` at a time (None: the default, which is also the maximum).

    `require_approval_by_default`: the run waits at each call that no rule of the configuration
    allows. An event of kind `approval` has its `id`, to be answered with Agent.decide.
    """

    enabled: bool = True
    allow_list: tuple[str, ...] | None = None
    max_parallel: int | None = None
    max_calls_per_run: int | None = None
    require_approval_by_default: bool = False


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run; None: as configured."""

    max_iterations: int | None = None
    max_tool_rounds: int | None = None
    max_run_ms: int | None = None


class RunInput(msgspec.Struct, frozen=True, kw_only=True):
    """A program's request for a run."""

    messages: Sequence[Mapping[str, object]]
    """The last one is the question. Those before it replace the session's history for the model.
    Each has a `role` (user or assistant) and `content`: text, or OpenAI's list of parts, with
    pictures as `data:` URLs."""
    session_key: str = ""
    """If it is empty, the run gets a new session."""
    run_id: str = ""
    """Your name for the run; if it is empty, one is generated."""
    system_prompt_override: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    tool_order: tuple[str, ...] = ()
    tool_policy: ToolPolicy = ToolPolicy()
    limits: RunLimits = RunLimits()
    auto_create_session: bool = True
    runtime_init_data: Mapping[str, str] = {}
    """Added, sorted, to the end of the system prompt."""
    runtime_hints: Mapping[str, str] = {}
    """Added after them in the same way."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: completed, failed or aborted. `message`: its final answer, or a line that
    says why there is none. `error`: the name of the error."""

    session_key: str
    run_id: str
    status: RunState
    message: str
    error: str | None = None
    usage: RunUsage = RunUsage()
