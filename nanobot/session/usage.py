"""Usage of model calls, from the log of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from nanobot.providers.base import Usage
from nanobot.session.entries import (
    AuxiliaryFailedEntry,
    Body,
    CancelEntry,
    FailedEntry,
    FallbackEntry,
    ModelCallEntry,
    OverflowEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    TriageEntry,
)
from nanobot.session.runs import RunUsage

_COUNTED = (
    *(ReplyEntry, SummaryEntry, TriageEntry, ToolResultEntry),
    *(FallbackEntry, FailedEntry),
)
_DEAD = (FallbackEntry, OverflowEntry, FailedEntry)
"""Entries after a call that produced nothing."""


_MOST_TOKENS = 10**9
_MOST_DOLLARS = 1e9


def bounded(usage: Usage, most_in: int = _MOST_TOKENS, most_out: int = _MOST_TOKENS) -> Usage:
    """Limit the reported tokens of one call: from 0 to the most that the call could have used, or
    to a billion if that is unknown.
    """
    prompt = usage.within(min(most_in, _MOST_TOKENS))
    completion = usage.within(min(most_out, _MOST_TOKENS)).completion_tokens
    return msgspec.structs.replace(prompt, completion_tokens=completion)


def dollars(cost: float) -> float:
    """Limit the cost of one call: from 0 to a billion."""
    return 0.0 if math.isnan(cost) else min(max(cost, 0.0), _MOST_DOLLARS)


def guess(reply: ReplyEntry) -> int:
    """Estimated answer tokens, if the provider did not count."""
    calls = "".join(call.name + call.arguments for call in reply.tool_calls)
    return len((reply.text + reply.reasoning + calls).encode("utf-8", "replace")) // 3


def run_cost(bodies: Iterable[Body]) -> float | None:
    """The cost of a run in dollars, from its log; None if the price of a call is unknown."""
    cost, price = 0.0, None
    for body in bodies:
        if isinstance(body, ModelCallEntry):
            price = body.profile.price
        elif isinstance(body, _COUNTED) and body.usage is not None:
            other = getattr(body, "profile", None)
            price_of_call = price if other is None else other.price
            if price_of_call is None:
                return None
            cost += dollars(price_of_call.of(bounded(body.usage)))
    return cost


def run_usage(bodies: Iterable[Body]) -> RunUsage:
    """The usage of a run, from its log. A stopped call counts by its estimate."""
    usage, estimate = RunUsage(), 0
    calls = tools = ms = 0
    for body in bodies:
        if isinstance(body, ModelCallEntry):
            calls, estimate = calls + 1, body.estimate
        elif isinstance(body, ReplyEntry):
            cut_off = Usage(estimate, guess(body)) if body.partial else None
            usage, estimate = _plus(usage, body.usage or cut_off), 0
            ms += body.ms
        elif isinstance(body, SummaryEntry | TriageEntry | AuxiliaryFailedEntry):
            usage, ms = _plus(usage, body.usage), ms + body.ms
        elif isinstance(body, ToolResultEntry):
            usage, tools, ms = _plus(usage, body.usage), tools + 1, ms + body.ms
        elif isinstance(body, CancelEntry):
            usage, estimate = usage.plus(Usage(estimate)), 0
        elif isinstance(body, _DEAD):
            usage, estimate = _plus(usage, getattr(body, "usage", None)), 0
    return msgspec.structs.replace(usage, model_calls=calls, tool_calls=tools, active_ms=ms)


def _plus(total: RunUsage, usage: Usage | None) -> RunUsage:
    return total if usage is None else total.plus(bounded(usage))
