"""A type of background runs."""

from __future__ import annotations

import msgspec

from nanobot.agent.tasks.types import Bench, RunType
from nanobot.session.tasks import Made


class Count(msgspec.Struct, frozen=True):
    """Input."""

    birds: list[str]


async def _count(given: Count, bench: Bench) -> Made:
    bench.tell(f"counting {len(given.birds)}")
    return Made(text=f"{len(given.birds)} birds were counted")


COUNT = RunType(
    name="count_birds",
    description="counts birds",
    args=Count,
    text=lambda given: f"Count {', '.join(given.birds) or 'nothing'}.",
    perform=_count,
)
