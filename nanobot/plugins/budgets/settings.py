"""What may be spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import Settings, about

Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000_000_000)]
Dollars: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000_000)]


class AllowanceSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of a day. A key that is missing is as in the table above it."""

    tokens_per_day: Annotated[
        Tokens | None, about("Most tokens a day. 0: no limit.", unit="tokens", live=True)
    ] = None
    cost_per_day: Annotated[
        Dollars | None, about("Most dollars a day. 0: no limit.", unit="USD", live=True)
    ] = None
    requests_per_day: Annotated[
        Tokens | None, about("Most model calls a day. 0: no limit.", unit="calls", live=True)
    ] = None


class BudgetSettings(AllowanceSettings, frozen=True, kw_only=True):
    """`[budgets]`: daily limits for everything together, for each person, chat and job, and for
    those that are named."""

    tokens_per_day: Annotated[
        Tokens | None,
        about("Most tokens a day for everything together. 0: no limit.", unit="tokens", live=True),
    ] = 2_000_000
    cost_per_day: Annotated[
        Dollars | None,
        about("Most dollars a day for everything together. 0: no limit.", unit="USD", live=True),
    ] = 5.0
    requests_per_day: Annotated[
        Tokens | None,
        about(
            "Most model calls a day for everything together. 0: no limit.", unit="calls", live=True
        ),
    ] = 0
    soft: Annotated[
        float, Meta(gt=0, le=1), about("Share of a limit at which people are warned.", live=True)
    ] = 0.8
    zone: Annotated[
        str, about("Time zone in which a day begins. Empty: `agent.zone`.", live=True)
    ] = ""
    reset_hour: Annotated[
        int, Meta(ge=0, le=23), about("Hour at which a day begins.", unit="h", live=True)
    ] = 0
    person: Annotated[AllowanceSettings, about("Limits of each person.", live=True)] = (
        AllowanceSettings()
    )
    chat: Annotated[AllowanceSettings, about("Limits of each chat.", live=True)] = (
        AllowanceSettings()
    )
    job: Annotated[AllowanceSettings, about("Limits of each job.", live=True)] = AllowanceSettings()
    people: Annotated[
        Mapping[str, AllowanceSettings], about("Limits of single people.", live=True)
    ] = {}
    chats: Annotated[
        Mapping[str, AllowanceSettings], about("Limits of single chats.", live=True)
    ] = {}
    jobs: Annotated[
        Mapping[str, AllowanceSettings], about("Limits of single jobs.", live=True)
    ] = {}
    model: Annotated[
        Mapping[str, AllowanceSettings], about("Limits of single models.", live=True)
    ] = {}


UNLIMITED = BudgetSettings(tokens_per_day=0, cost_per_day=0.0)


class RunCostKeys(Settings, frozen=True, kw_only=True):
    """The key of `[agent]` about the cost of a run."""

    part_of: ClassVar[str] = "agent"
    max_run_cost: Annotated[
        float,
        Meta(ge=0, le=1_000_000),
        about(
            "Most that one run may cost, with everything it starts. 0: no limit.",
            unit="USD",
            live=True,
        ),
    ] = 0.0
