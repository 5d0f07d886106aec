"""Daily budgets: how much may be spent by whom, and what one call may still use.

Pure: the store's ledger supplies the usage and asks here whether a call fits. There are limits for
everybody together and for each person, chat, job and model. A day begins at the configured hour of
the configured time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from nanobot.config.loader import Config
from nanobot.errors import ConfigError, OverBudget
from nanobot.messages import Origin
from nanobot.plugins.budgets.reservations import (
    NOTHING,
    CallEstimate,
    UsageRow,
    UsageSum,
    prompt_at_most,
)
from nanobot.plugins.budgets.settings import AllowanceSettings, BudgetSettings, RunCostKeys
from nanobot.session import keys
from nanobot.text import Sentence
from nanobot.zones import zone_named, zone_or_utc

if TYPE_CHECKING:
    from nanobot.plugins.common.store.run_roots import RootRun

Level: TypeAlias = Literal["all", "person", "chat", "job", "model", "run"]
Measure: TypeAlias = Literal["tokens", "cost", "requests"]

LEVELS: tuple[Level, ...] = ("all", "person", "chat", "job", "model")
LEAST_ANSWER = 64
"""A call with less room than this for its answer is not made."""

_MEASURES: tuple[Measure, ...] = ("tokens", "cost", "requests")
_NO_ALLOWANCE = AllowanceSettings()
_BY_PEOPLE = frozenset({Origin.USER, Origin.API, Origin.APPROVAL, Origin.RUN})


class BudgetLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of `amount` per day (at level run: per run) for `name`."""

    level: Level
    name: str
    measure: Measure
    amount: float

    def used(self, used: UsageSum) -> float:
        return float(getattr(used, self.measure))

    @property
    def key(self) -> str:
        return f"{self.level} {self.measure} {self.name}"

    def __str__(self) -> str:
        if self.level == "run":
            return f"{shown(self.measure, self.amount)} for one answer"
        return f"{shown(self.measure, self.amount)} a day{self._whose}"

    @property
    def _whose(self) -> str:
        whose = {"all": "", "person": " for you", "chat": " for this chat"}
        return whose.get(self.level, f" for {self.name}")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """The accounts that a model call is charged to. An empty name is not charged. `job_name`: the
    job's name for people."""

    person: str
    chat: str
    job: str
    model: str
    job_name: str = ""

    def names(self) -> dict[Level, str]:
        """The accounts by level; the one of everybody has no name."""
        named: dict[Level, str] = {"all": ""}
        for level in LEVELS[1:]:
            if name := getattr(self, level):
                named[level] = name
        return named


def account_of(first: RootRun, model: str, job: str = "", job_name: str = "") -> Account:
    """The accounts of a call. A run that no person started is charged to its job, if that is
    known.
    """
    by_itself = first.origin not in _BY_PEOPLE
    return Account(
        person="" if by_itself else keys.person(first.channel, first.sender_id),
        chat=f"{first.channel}:{first.chat_id}",
        job=f"{first.origin}:{job or first.sender_id}" if by_itself else "",
        model=model,
        job_name=job_name if by_itself else "",
    )


class Period(msgspec.Struct, frozen=True):
    """A budget day: its name, and when it ends (unix seconds, and for people)."""

    day: str
    ends: float
    until: str


class Budgets:
    """The configured limits. Raises ConfigError for an unknown time zone."""

    def __init__(
        self, settings: BudgetSettings, local: str = "UTC", max_run_cost: float = 0.0
    ) -> None:
        self._local = local
        self.max_run_cost = max_run_cost
        self.configure(settings)

    def limit_runs(self, config: Config) -> None:
        """Replace the limit of a single run."""
        self.max_run_cost = config.of(RunCostKeys).max_run_cost

    def configure(self, settings: BudgetSettings) -> None:
        """Replace the daily limits. Raises ConfigError and then changes nothing."""
        zone_name = settings.zone or self._local
        zone = _zone(zone_name, given=bool(settings.zone))
        own = {"person": "people", "chat": "chats", "job": "jobs"}
        tables: list[AllowanceSettings] = [settings]
        for level in LEVELS[1:]:
            tables += [*_named(settings, own.get(level, level)).values()]
            tables += [_usual(settings, level)]
        self.daily = any(_amount(table, measure) for table in tables for measure in _MEASURES)
        self.by_cost = any(_amount(table, "cost") for table in tables)
        self._zone, self._zone_name, self._settings = zone, zone_name, settings
        self._period = Period("", 0.0, "")
        # Last: another thread asks meanwhile, and what it finds is kept.
        self.limits = lru_cache(1_000)(self._limits)

    @property
    def zone(self) -> str:
        """The time zone of budget days."""
        return self._zone_name

    @property
    def reset_hour(self) -> int:
        """The hour at which a day begins."""
        return self._settings.reset_hour

    def period(self, now: float) -> Period:
        period = self._period
        if period.ends - 86_400 + 7_200 <= now < period.ends:  # well within: no day is shorter
            return period
        shift = timedelta(hours=self._settings.reset_hour)
        local = datetime.fromtimestamp(now, UTC).astimezone(self._zone).replace(tzinfo=None)
        day = (local - shift).date()
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the zone follows
        end = (midnight + timedelta(days=1) + shift).replace(tzinfo=self._zone)
        until = f"{end:%Y-%m-%d %H:%M} ({self._zone_name})"
        self._period = Period(day.isoformat(), end.timestamp(), until)
        return self._period

    def since(self, now: float, days: int) -> str:
        """The first of the last `days` days."""
        today = datetime.fromisoformat(self.period(now).day)
        return (today - timedelta(days=days - 1)).date().isoformat()

    def _limits(self, who: Account) -> tuple[BudgetLimit, ...]:
        return tuple(
            BudgetLimit(level=level, name=name, measure=measure, amount=amount)
            for level, name in (who.names() if self.daily else {}).items()
            for measure in _MEASURES
            if (amount := self._of(level, name, measure, who.job_name))
        )

    def _of(self, level: Level, name: str, measure: Measure, job_name: str) -> float:
        """0: no limit. A limit by name overrides its level's; a job's id overrides its name."""
        settings = self._settings
        if level == "all":
            return _amount(settings, measure)
        tables = {"person": settings.people, "chat": settings.chats, "job": settings.jobs}
        table = tables.get(level, settings.model)
        own = [name, job_name] if level == "job" else [name]
        for allowance in (table[key] for key in own if key in table):
            amount = getattr(allowance, f"{measure}_per_day")
            if amount is not None:
                return float(amount)
        return _amount(_usual(settings, level), measure)

    def run_limit(self) -> list[BudgetLimit]:
        """The limit of a single run with everything it starts."""
        if not self.max_run_cost:
            return []
        return [BudgetLimit(level="run", name="", measure="cost", amount=self.max_run_cost)]

    def soft(self, limit: BudgetLimit, used: UsageSum) -> bool:
        """Whether so much is used that people should be warned."""
        return limit.used(used) >= self.warned(limit)

    def warned(self, limit: BudgetLimit) -> float:
        """The usage from which people should be warned."""
        return self._settings.soft * limit.amount

    def allowed(
        self,
        limits: Iterable[BudgetLimit],
        used: Mapping[Level, UsageSum],
        estimate: CallEstimate,
        period: Period,
    ) -> int:
        """The maximum answer tokens (at most those wanted) that keep within every limit.

        Raises OverBudget if that is too little for an answer.
        """
        most, tightest = estimate.tokens_out, None
        for limit in limits:
            room = _room(limit, used.get(limit.level, NOTHING), estimate)
            if room < most:
                most, tightest = room, limit
        if tightest is None or most >= min(LEAST_ANSWER, estimate.tokens_out):
            return most
        raise _over(tightest, used, period)

    def check(
        self,
        limits: Iterable[BudgetLimit],
        used: Mapping[Level, UsageSum],
        more: UsageSum,
        period: Period,
    ) -> None:
        """Raises OverBudget if this usage would exceed a limit."""
        for limit in limits:
            if limit.used(used.get(limit.level, NOTHING).plus(more)) > limit.amount:
                raise _over(limit, used, period)


def _over(limit: BudgetLimit, used: Mapping[Level, UsageSum], period: Period) -> OverBudget:
    of_run = limit.level == "run"
    return OverBudget(
        refusal(limit, used.get(limit.level, NOTHING), period),
        "limit_cost" if of_run else "limit_budget",
        of_model=limit.level == "model",
        until=0.0 if of_run else period.ends,
    )


def _room(limit: BudgetLimit, used: UsageSum, estimate: CallEstimate) -> int:
    """Answer tokens that the limit allows; negative if even the prompt exceeds it."""
    left = limit.amount - limit.used(used)
    if limit.measure == "requests":
        return estimate.tokens_out if left >= 1 else -1
    if limit.measure == "tokens":
        return int(left) - estimate.tokens_in
    price = estimate.price
    if price is None:
        return estimate.tokens_out
    left -= estimate.tokens_in * prompt_at_most(price)
    if left < 0 or not price.completion:
        return -1 if left < 0 else estimate.tokens_out
    return int(min(left / price.completion, estimate.tokens_out))


def refusal(limit: BudgetLimit, used: UsageSum, period: Period) -> str:
    """Why a call is refused: the limit, the usage, and when the day ends."""
    gone = shown(limit.measure, limit.used(used))
    text = f"the budget of {limit} is used up ({gone} used or reserved)"
    if limit.level == "run":
        return text
    return f"{text}; it starts again at {period.until}"


def warning(limit: BudgetLimit, used: UsageSum, period: Period) -> str:
    """The warning that a limit is near."""
    share = min(int(100 * limit.used(used) / limit.amount), 100)
    gone = shown(limit.measure, limit.used(used))
    return f"{share} % of the budget of {limit} is used ({gone}), until {period.until}."


def shown(measure: str, amount: float) -> Sentence:
    """An amount as text for people."""
    if measure == "cost":
        return money(amount)
    if measure == "requests":
        return "1 model request" if amount == 1 else f"{amount:,.0f} model requests"
    return "1 token" if amount == 1 else f"{amount:,.0f} tokens"


def money(dollars: float) -> str:
    """Dollars, with as many digits as small sums need."""
    return f"${dollars:,.2f}" if dollars >= 1 or not dollars else f"${dollars:.4f}"


def _amount(table: AllowanceSettings, measure: Measure) -> float:
    return float(getattr(table, f"{measure}_per_day") or 0)


def _usual(settings: BudgetSettings, level: Level) -> AllowanceSettings:
    """The limits for each name of a level. Models have only individual limits."""
    tables = {"person": settings.person, "chat": settings.chat, "job": settings.job}
    return tables.get(level, _NO_ALLOWANCE)


def _named(settings: BudgetSettings, table: str) -> Mapping[str, AllowanceSettings]:
    allowances: Mapping[str, AllowanceSettings] = getattr(settings, table)
    return allowances


def _zone(name: str, *, given: bool) -> ZoneInfo:
    if given and zone_named(name) is None:
        raise ConfigError(
            f"budgets.zone is {name!r}, which is not a time zone: "
            'set it to one like "Europe/Berlin".'
        )
    return zone_or_utc(name)


class LimitStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A limit with the amount used and reserved."""

    level: Level
    name: str
    measure: Measure
    limit: float
    used: float
    left: float


class UsageStore(Protocol):
    """The stored usage; each verb is one transaction."""

    async def rows(self, by: str, since: str, who: Mapping[Level, str]) -> list[UsageRow]:
        """Usage since a day, by `day` or by the names of a level, limited to `who`."""

    async def tokens(self, since: float, until: float) -> int:
        """The tokens of the latest calls, of those that began within these times."""

    async def standing(self, day: str, who: Account) -> dict[Level, UsageSum]:
        """The used and reserved amounts of each account on a day."""
