"""The operation that shows usage and remaining limits."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.addresses import OWNER_ID, THE_OWNER
from nanobot.errors import NanobotError
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.plugins.budgets.limits import (
    Account,
    Budgets,
    Level,
    LimitStatus,
    UsageStore,
    money,
    shown,
)
from nanobot.plugins.budgets.reservations import UsageRow
from nanobot.session import keys
from nanobot.text import Sentence

_SHOWN = 50


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of some days, and the state of today's limits."""

    since: str
    """The first day."""
    today: str
    """The last day."""
    zone: str
    """The time zone of the days."""
    reset_hour: int
    """When days begin."""
    until: str
    who: str
    """One person; empty: everybody."""
    rows: list[UsageRow]
    limits: list[LimitStatus]


def _usage(context: OperationContext) -> UsageStore:
    return context.of(UsageStore)  # type: ignore[type-abstract]


async def _model(context: OperationContext, caller: Caller) -> str:
    """The model that answers the caller, if it is known."""
    engine = context.engine
    row = await engine.journal.session(caller.session_key)
    try:
        return (await engine.describe_model(row.model if row else None)).label
    except NanobotError:
        return ""


def line(row: UsageRow) -> Sentence:
    """The usage in one line."""
    requests = shown("requests", row.requests)
    tokens = f"{row.tokens_in:,} tokens in, {row.tokens_out:,} out"
    return f"{requests}, {tokens}, {_cost(row)}"


def _cost(row: UsageRow) -> Sentence:
    if row.unpriced == 0:
        return money(row.cost)
    if row.unpriced >= row.requests or not row.cost:
        return "at an unknown price"
    return f"{money(row.cost)} and {shown('requests', row.unpriced)} at an unknown price"


def _text(report: UsageReport, _: Now) -> Sentence:
    whose = "You used" if report.who else "Used"
    lines = [f"{whose} since {report.since}:"]
    lines += [f"- {_who(row.name) or 'all'}: {line(row)}" for row in report.rows[:_SHOWN]] or [
        "- nothing"
    ]
    if report.limits:
        lines += ["", f"Left until {report.until}:"]
        lines += [f"- {_left(status)}" for status in report.limits]
    if any(row.unpriced for row in report.rows):
        lines += ["", 'Set prices with providers.NAME.models."MODEL".price.']
    return "\n".join(lines)


def _who(name: str) -> str:
    """The name of a row. If the id does not show the person, both id and name."""
    return f"{THE_OWNER} ({name})" if name.endswith(f":{OWNER_ID}") else name


def _left(status: LimitStatus) -> Sentence:
    left, limit = f"{status.left:,.0f}", shown(status.measure, status.limit)
    if status.measure == "cost":
        left = money(status.left)
    if status.level == "all":
        return f"{left} of {limit} for everyone"
    if status.level == "person":
        return f"{left} of {limit} for you"
    if status.level == "chat":
        return f"{left} of {limit} for this chat"
    return f"{left} of {limit} for {status.name}"


@operation(
    "usage",
    reads=True,
    role=Role.MEMBER,
    text=_text,
    example="by=model days=30",
    shows=("usage_totals", "usage_changes", "model_call_costs"),
)
async def show_usage(
    context: OperationContext,
    caller: Caller,
    by: Annotated[
        Literal["day", "person", "chat", "model", "job"],
        Meta(description="What to group by."),
    ] = "day",
    days: Annotated[int, Meta(ge=1, le=3660, description="Number of days, including today.")] = 1,
) -> UsageReport:
    """Show the usage and the remaining budget.

    In a chat, members see their own usage and owners everybody's.
    """
    budgets, usage = context.of(Budgets), _usage(context)
    now = context.engine.now()
    period, since = budgets.period(now), budgets.since(now, days)
    address = caller.address
    person = "" if address is None else keys.person(address.channel, caller.by)
    chat = "" if address is None else keys.chat(address)
    who: dict[Level, str] = {} if caller.role is Role.OWNER else {"person": person}
    model = await _model(context, caller) if budgets.daily else ""
    account = Account(person=person, chat=chat, job="", model=model)
    used = await usage.standing(period.day, account)
    limits = [
        LimitStatus(
            level=limit.level,
            name=limit.name,
            measure=limit.measure,
            limit=limit.amount,
            used=limit.used(used[limit.level]),
            left=max(limit.amount - limit.used(used[limit.level]), 0.0),
        )
        for limit in budgets.limits(account)
    ]
    rows = await usage.rows("day" if who else by, since, who)
    return UsageReport(
        since=since,
        today=period.day,
        zone=budgets.zone,
        reset_hour=budgets.reset_hour,
        until=period.until,
        who=who.get("person", ""),
        rows=rows,
        limits=limits,
    )


def operations() -> list[Operation]:
    """What people see of usage."""
    return [show_usage]
