"""The operation that replays recorded runs."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, RowUnreadable, UnknownId, UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.runs.run_ids import run_of
from nanobot.plugins.common.views.sessions import lists_of, log_of
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.replay.replaying import Difference

_PAGE = 100
_NAMED = 5


class ReplayDiffers(NanobotError):
    """A request or a step differs from the recording."""


class ReplayView(msgspec.Struct, frozen=True, kw_only=True):
    """The result of replaying a session."""

    session_key: str
    runs: int
    requests: int
    """How many requests were rebuilt."""
    compared: int
    """How many of these have their digest in the log."""
    steps: int
    """How many steps were decided again."""
    skipped: tuple[str, ...] = ()
    """What could not be compared, and why."""


def _text(views: list[ReplayView], _: Now) -> Sentence:
    lines = []
    for view in views:
        lines.append(
            f"{view.session_key}: {view.runs} run(s), {view.steps} step(s), "
            f"{view.compared} of {view.requests} request(s) compared"
        )
        lines += [f"  not compared: {why}" for why in view.skipped[:_NAMED]]
        if len(view.skipped) > _NAMED:
            lines.append(f"  and {len(view.skipped) - _NAMED} more not compared")
    return "\n".join([*lines, f"{len(views)} session(s) replayed; no difference."])


@operation("runs replay", reads=True, text=_text, slow=True, example="01m80aj3rq")
async def replay_runs(
    context: OperationContext,
    caller: Caller,
    name: Annotated[Positional, Meta(description="A run or a session.")] = "",
    *,
    all: Annotated[bool, Meta(description="Replay every session.")] = False,
) -> list[ReplayView]:
    """Replay recorded runs without models and tools, and compare each request and step."""
    if all == bool(name):
        raise UsageError("Name a run or a session, or use --all to replay every session.")
    if all:
        views: list[ReplayView] = []
        for key in await _sessions(context):
            views += await _replayed(context, key)
        return views
    if await lists_of(context).one(name) is not None:
        return await _replayed(context, name)
    run = await run_of(context, caller, name)
    return await _replayed(context, run.session_key, run.id)


async def _sessions(context: OperationContext) -> list[str]:
    """The keys of all sessions, including those of single runs."""
    found: dict[str, None] = {}
    while True:
        some = await lists_of(context).newest(limit=_PAGE, skip=len(found))
        before = len(found)
        found |= {session.key: None for session in some}
        if len(found) == before:
            return list(found)


async def _replayed(context: OperationContext, key: str, run_id: str = "") -> list[ReplayView]:
    """The replay of one session; none if it was removed in the meantime."""
    from nanobot.plugins.replay.logs import replayed_log  # noqa: PLC0415 - every command
    from nanobot.plugins.replay.replaying import Replayed  # noqa: PLC0415 - imports this module

    session = await lists_of(context).one(key)
    if session is None:
        return []
    try:
        again = await replayed_log(
            log_of(context), context.engine.journal, key, session.entries, run_id
        )
    except UnknownId:
        return []
    except RowUnreadable as error:
        again = Replayed(skipped=(str(error),))
    if again.difference is not None:
        raise ReplayDiffers(_described(key, again.difference))
    return [
        ReplayView(
            session_key=key,
            runs=again.runs,
            requests=len(again.requests),
            compared=again.compared,
            steps=again.steps,
            skipped=again.skipped,
        )
    ]


def _described(key: str, found: Difference) -> str:
    """The first difference, in readable form."""
    diff = unified_diff(
        found.logged.splitlines(), found.replayed.splitlines(), "logged", "replayed", lineterm=""
    )
    head = f"entry {found.entry} of {key} (run {found.run_id}) differs in its {found.field}:"
    return "\n".join([head, *diff])


def operations() -> list[Operation]:
    """The operations of the plugin."""
    return [replay_runs]
