"""Budgets: whose limits concern a call, how much an answer may take, and when a day ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ConfigError, OverBudget
from nanobot.plugins.budgets.limits import (
    LEAST_ANSWER,
    Account,
    BudgetLimit,
    Budgets,
    Period,
    money,
    refusal,
    shown,
    warning,
)
from nanobot.plugins.budgets.reservations import CallEstimate, UsageSum
from nanobot.plugins.budgets.settings import UNLIMITED, AllowanceSettings
from nanobot.providers.base import Price

ANN = Account(person="t:1", chat="t:7", job="", model="p/m")
PERIOD = Period("2026-01-01", 0.0, "2026-01-02 00:00 (UTC)")


def budgets(**settings: Any) -> Budgets:
    return Budgets(msgspec.structs.replace(UNLIMITED, **settings))


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("now", "day", "until"),
    [
        ("2026-03-28T22:59:59+00:00", "2026-03-28", "2026-03-29 00:00 (Europe/Berlin)"),
        ("2026-03-28T23:00:00+00:00", "2026-03-29", "2026-03-30 00:00 (Europe/Berlin)"),
        ("2026-03-29T21:59:59+00:00", "2026-03-29", "2026-03-30 00:00 (Europe/Berlin)"),
        ("2026-03-29T22:00:00+00:00", "2026-03-30", "2026-03-31 00:00 (Europe/Berlin)"),
        ("2026-10-25T22:59:59+00:00", "2026-10-25", "2026-10-26 00:00 (Europe/Berlin)"),
    ],
)
def test_a_day_is_the_zone_s_also_when_its_clocks_change(now: str, day: str, until: str) -> None:
    period = budgets(zone="Europe/Berlin").period(moment(now))
    assert (period.day, period.until) == (day, until)


def test_a_day_begins_at_the_hour_that_is_set() -> None:
    limited = budgets(zone="UTC", reset_hour=6)
    assert limited.period(moment("2026-05-02T05:59:00+00:00")).day == "2026-05-01"
    period = limited.period(moment("2026-05-02T06:00:00+00:00"))
    assert (period.day, period.until) == ("2026-05-02", "2026-05-03 06:00 (UTC)")
    assert limited.since(moment("2026-05-02T06:00:00+00:00"), 7) == "2026-04-26"


@given(
    times=st.lists(st.integers(1_700_000_000, 1_900_000_000), min_size=1, max_size=8),
    hour=st.integers(0, 23),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Chatham"]),
)
def test_a_remembered_day_is_the_same_as_a_fresh_one(
    times: list[int], hour: int, zone: str
) -> None:
    limited = budgets(zone=zone, reset_hour=hour)
    for now in times:
        period = limited.period(now)
        assert period == budgets(zone=zone, reset_hour=hour).period(now)
        assert now < period.ends
        assert datetime.fromtimestamp(period.ends, UTC).second == 0


def test_a_zone_that_there_is_not_is_named_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"budgets\.zone is 'Europa/Berlin'"):
        budgets(zone="Europa/Berlin")


def test_what_is_set_for_one_goes_before_what_is_set_for_all_of_its_kind() -> None:
    limited = budgets(
        person=AllowanceSettings(requests_per_day=5, tokens_per_day=100),
        people={"t:1": AllowanceSettings(requests_per_day=9), "t:2": AllowanceSettings()},
    )
    limits = {(limit.measure, limit.amount) for limit in limited.limits(ANN)}
    assert limits == {("requests", 9.0), ("tokens", 100.0)}


def test_nought_for_one_is_no_limit_for_them() -> None:
    free = AllowanceSettings(requests_per_day=0)
    limited = budgets(person=AllowanceSettings(requests_per_day=5), people={"t:1": free})
    assert limited.limits(ANN) == ()


def test_without_limits_nothing_is_looked_up() -> None:
    assert not budgets().daily
    assert budgets(model={"p/m": AllowanceSettings(cost_per_day=1.0)}).daily


def one_limit(measure: Any, amount: float) -> BudgetLimit:
    return BudgetLimit(level="all", name="", measure=measure, amount=amount)


@given(
    limit=st.floats(0.01, 1e6),
    gone=st.floats(0, 1e6),
    tokens_in=st.integers(0, 100_000),
    tokens_out=st.integers(1, 100_000),
    price=st.none() | st.builds(Price, prompt=st.floats(0, 0.01), completion=st.floats(0, 0.01)),
    measure=st.sampled_from(["tokens", "cost", "requests"]),
)
def test_what_is_allowed_fits_the_limit_and_is_never_more_than_was_wanted(
    limit: float, gone: float, tokens_in: int, tokens_out: int, price: Price | None, measure: str
) -> None:
    wanted = CallEstimate(tokens_in=tokens_in, tokens_out=tokens_out, price=price)
    concerned = one_limit(measure, limit)
    used = UsageSum(requests=int(gone), tokens=int(gone), cost=gone)
    try:
        most = budgets().allowed([concerned], {"all": used}, wanted, PERIOD)
    except OverBudget as error:
        assert str(error) == refusal(concerned, used, PERIOD)  # noqa: PT017
        return
    assert min(LEAST_ANSWER, tokens_out) <= most <= tokens_out
    if measure != "cost" or price is not None:
        after = used.plus(CallEstimate(tokens_in=tokens_in, tokens_out=most, price=price).used)
        assert concerned.used(after) <= limit * (1 + 1e-9)


def test_only_a_model_s_own_limit_leaves_others_to_ask() -> None:
    wanted = CallEstimate(tokens_in=1, tokens_out=1, price=None)
    for level, others in (("model", True), ("person", False)):
        limit = BudgetLimit(level=level, name="x", measure="requests", amount=1)  # type: ignore[arg-type]
        with pytest.raises(OverBudget) as caught:
            budgets().allowed([limit], {level: UsageSum(requests=1)}, wanted, PERIOD)  # type: ignore[dict-item]
        assert caught.value.of_model is others


def test_how_limits_read() -> None:
    day = BudgetLimit(level="person", name="t:1", measure="tokens", amount=100_000)
    assert refusal(day, UsageSum(tokens=99_999), PERIOD) == (
        "the budget of 100,000 tokens a day for you is used up (99,999 tokens used or reserved); "
        "it starts again at 2026-01-02 00:00 (UTC)"
    )
    cost = BudgetLimit(level="model", name="p/m", measure="cost", amount=2.5)
    assert warning(cost, UsageSum(cost=2.0), PERIOD) == (
        "80 % of the budget of $2.50 a day for p/m is used ($2.00), until 2026-01-02 00:00 (UTC)."
    )
    assert (shown("requests", 1), money(0.00123)) == ("1 model request", "$0.0012")
