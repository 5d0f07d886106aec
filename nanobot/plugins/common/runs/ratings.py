"""What people think of answers, as the log of a run contains it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from nanobot.seam.installed import Interface
from nanobot.session.entries import Entry, FeedbackEntry

if TYPE_CHECKING:
    from nanobot.operations.operation import OperationContext

_MOST = 100
"""The most ratings shown with one run."""


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """A person's rating of a run's answer: up or down, with their reason if given."""

    run_id: str
    verdict: str
    by: str
    at: float
    text: str = ""


LATEST_RATINGS: Interface[Callable[[OperationContext, int], Awaitable[list[FeedbackView]]]] = (
    Interface("latest_ratings")
)
"""The ratings that count in the logs of all runs, newest run first; at most so many."""


def ratings_among(entries: Iterable[Entry]) -> list[FeedbackView]:
    """Each person's latest rating of each run among these entries, in the order of a log; the
    newest first."""
    ratings: dict[tuple[str, str], FeedbackView] = {}
    for entry in reversed(tuple(entries)):
        if isinstance(entry.body, FeedbackEntry):
            rating = rating_of(entry.run_id, entry.at, entry.body)
            ratings.setdefault((entry.run_id, rating.by), rating)
    return list(ratings.values())[:_MOST]


def rating_of(run_id: str, at: float, body: FeedbackEntry) -> FeedbackView:
    """An entry of a run's log as people see it."""
    return FeedbackView(run_id=run_id, verdict=body.verdict, by=body.by, at=at, text=body.text)
