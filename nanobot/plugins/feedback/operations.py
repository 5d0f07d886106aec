"""What people think of answers: kept in the log of the run that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Limit, Positional
from nanobot.operations.rendering import Now, as_text
from nanobot.plugins.common.runs.ratings import FeedbackView
from nanobot.plugins.common.runs.run_ids import no_run_of_theirs, run_of, runs_in
from nanobot.plugins.common.views.views import RunView
from nanobot.session import keys
from nanobot.session.entries import FeedbackEntry
from nanobot.session.states import RunKind, RunState
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.feedback.store import SqlRatings

_MOST_WORDS = 2_000


def _ratings(context: OperationContext) -> SqlRatings:
    """The ratings, imported late: every command imports this module, and few need the store."""
    from nanobot.plugins.feedback.store import SqlRatings  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return SqlRatings(store.database, store.writer)


def _text(verdicts: list[FeedbackView], now: Now) -> Sentence:
    return as_text(verdicts, now) if verdicts else "No feedback yet."


@operation(
    "runs feedback", role=Role.GUEST, text=_text, example="up Just what I needed", quiet=True
)
async def feedback(
    context: OperationContext,
    caller: Caller,
    verdict: Annotated[
        Literal["", "up", "down"], Meta(description="Your comment.", extra={"positional": True})
    ] = "",
    text: Annotated[Positional, Meta(description="Why.")] = "",
    *,
    run: Annotated[str, Meta(description="The run; default: the last one here.")] = "",
    limit: Limit = 20,
) -> list[FeedbackView]:
    """Rate an answer (up or down); without a rating, list the feedback.

    Only the last verdict of a person on a run counts. It is an entry of the run's log.
    """
    ratings = _ratings(context)
    if not verdict:
        if caller.role is not Role.OWNER:
            raise UsageError("Write up or down. Only owners can read the feedback of others.")
        judged = (await run_of(context, caller, run)).id if run else ""
        return await ratings.listed(judged, limit)
    if len(text) > _MOST_WORDS:
        raise UsageError(f"that is {len(text):,} characters; say it in {_MOST_WORDS:,}")
    judged = (await _judged(context, caller, run)).id
    by = keys.person(caller.address.channel, caller.by) if caller.address else caller.by
    await ratings.judge(judged, FeedbackEntry(verdict=verdict, by=by, text=text))
    return [entry for entry in await ratings.listed(judged, 1_000) if entry.by == by]


async def _judged(context: OperationContext, caller: Caller, name: str) -> RunView:
    """The run that is meant. Raises NanobotError."""
    if not name:
        last = await runs_in(context).listed(
            session=caller.session_key, state=RunState.COMPLETED, limit=1, kind=RunKind.CHAT
        )
        if not last:
            raise NanobotError("There is no answer in this conversation yet.")
        return last[0]
    # In a group, everybody may judge an answer that only some may look into.
    named = await runs_in(context).run(name)
    run = named or await run_of(context, caller, name)
    if not caller.owns(run.session_key):
        raise no_run_of_theirs(name)
    if run.ended_at is None:
        raise NanobotError(f"Run {run.id} has not ended yet.")
    return run


async def latest_ratings(context: OperationContext, limit: int) -> list[FeedbackView]:
    """See ratings.LATEST_RATINGS."""
    return await _ratings(context).listed("", limit)


def operations() -> list[Operation]:
    """All operations."""
    return [feedback]
