"""What may be spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import Settings

Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000_000_000)]
Dollars: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000_000)]


class AllowanceSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be spent in a day; 0 is no limit, None as the level above has it."""

    tokens_per_day: Tokens | None = None
    cost_per_day: Dollars | None = None
    requests_per_day: Tokens | None = None


class BudgetSettings(AllowanceSettings, frozen=True, kw_only=True):
    """`[budgets]`: what may be spent in a day by all together; `person`, `chat`, `job`: by each of
    them; `people`, `chats`, `jobs`, `model`: by those named. At the share `soft` of a limit people
    are warned. A day begins at `reset_hour` in `zone` (empty: this machine's)."""

    tokens_per_day: Tokens | None = 2_000_000
    cost_per_day: Dollars | None = 5.0
    requests_per_day: Tokens | None = 0
    soft: Annotated[float, Meta(gt=0, le=1)] = 0.8
    zone: str = ""
    reset_hour: Annotated[int, Meta(ge=0, le=23)] = 0
    person: AllowanceSettings = AllowanceSettings()
    chat: AllowanceSettings = AllowanceSettings()
    job: AllowanceSettings = AllowanceSettings()
    people: Mapping[str, AllowanceSettings] = {}
    chats: Mapping[str, AllowanceSettings] = {}
    jobs: Mapping[str, AllowanceSettings] = {}
    model: Mapping[str, AllowanceSettings] = {}


UNLIMITED = BudgetSettings(tokens_per_day=0, cost_per_day=0.0)
