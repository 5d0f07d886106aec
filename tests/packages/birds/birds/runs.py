"""A type of background runs."""

from __future__ import annotations

import msgspec

from nanobot.agent.tasks.types import RunType, TaskContext
from nanobot.session.tasks import TaskResult


class Count(msgspec.Struct, frozen=True):
    """Input."""

    birds: list[str]


async def _count(given: Count, bench: TaskContext) -> TaskResult:
    bench.tell(f"counting {len(given.birds)}")
    return TaskResult(text=f"{len(given.birds)} birds were counted")


COUNT = RunType(
    name="count_birds",
    description="counts birds",
    args=Count,
    text=lambda given: f"Count {', '.join(given.birds) or 'nothing'}.",
    perform=_count,
)
