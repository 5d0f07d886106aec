"""Usage of model calls: reserved before a call, settled when its result is recorded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from nanobot.providers.base import Price, Usage
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

_COUNTED = (ReplyEntry, SummaryEntry, TriageEntry, ToolResultEntry)
_DEAD = (FallbackEntry, OverflowEntry, FailedEntry)
"""Entries after a call that produced nothing."""


class UsageSum(msgspec.Struct, frozen=True, kw_only=True):
    """A sum of usage. `cost` is in US dollars; calls with an unknown price add nothing."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: UsageSum) -> UsageSum:
        """The sum of both."""
        return UsageSum(
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
        )


NOTHING = UsageSum()


_MOST_TOKENS = 10**9
_SLACK, _OVERHEAD = 4, 4_096
_MOST_DOLLARS = 1e9


def bounded(usage: Usage, reserved: CallEstimate | None = None) -> Usage:
    """Limit the reported tokens of one call: from 0 to the most that the call could have used, or
    to a billion if that is unknown.

    An estimate may be too low: it assumes three bytes per token, and a token has at least one.
    """
    most_in = most_out = _MOST_TOKENS
    if reserved is not None:
        most_in = min(_SLACK * reserved.tokens_in + _OVERHEAD, _MOST_TOKENS)
        most_out = min(reserved.tokens_out + _OVERHEAD, _MOST_TOKENS)
    prompt = usage.within(most_in)
    completion = usage.within(most_out).completion_tokens
    return msgspec.structs.replace(prompt, completion_tokens=completion)


def dollars(cost: float) -> float:
    """Limit the cost of one call: from 0 to a billion."""
    return 0.0 if math.isnan(cost) else min(max(cost, 0.0), _MOST_DOLLARS)


class CallEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated maximum of a call: tokens of its prompt and of its answer, at a price (None:
    unknown, so only tokens and requests count)."""

    tokens_in: int
    tokens_out: int
    price: Price | None

    @property
    def used(self) -> UsageSum:
        """The usage to reserve."""
        return UsageSum(requests=1, tokens=self.tokens_in + self.tokens_out, cost=self.cost)

    @property
    def cost(self) -> float:
        """Maximum dollars: assumes nothing is read from the provider's cache and all is written."""
        price = self.price
        return dollars(price.at_most(self.tokens_in, self.tokens_out)) if price else 0.0


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a person, chat or other group. `unpriced`: calls whose cost is unknown."""

    name: str
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float
    unpriced: int = 0


class CallOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request. `state`: settled (by the provider's count), estimated, failed, lost
    (in a crash: the whole reservation counts), or replaced (lost, and made again)."""

    state: Literal["settled", "estimated", "failed", "lost", "replaced"]
    tokens_in: int
    tokens_out: int
    cached: int = 0
    cache_write: int = 0


def outcome(
    call: int, reserved: CallEstimate, bodies: Sequence[Body], ended: str | None
) -> CallOutcome | None:
    """The outcome of a call, from the entries recorded after it; None: it is not over.

    `ended`: the run ends with this error ("" for none).
    """
    for body in bodies:
        if isinstance(body, ReplyEntry) and body.call == call:
            return _replied(reserved, body)
        if isinstance(body, _DEAD) and ended != "unclean":
            return CallOutcome(state="failed", tokens_in=0, tokens_out=0)
    if ended is None:
        return None
    if ended == "unclean":
        return lost(reserved)
    return CallOutcome(state="estimated", tokens_in=reserved.tokens_in, tokens_out=0)


def lost(reserved: CallEstimate) -> CallOutcome:
    """The outcome of a call whose process died before the result was recorded."""
    return CallOutcome(state="lost", tokens_in=reserved.tokens_in, tokens_out=reserved.tokens_out)


def _replied(reserved: CallEstimate, reply: ReplyEntry) -> CallOutcome:
    if reply.usage is None:
        return CallOutcome(state="estimated", tokens_in=reserved.tokens_in, tokens_out=guess(reply))
    usage = bounded(reply.usage, reserved)
    return CallOutcome(
        state="settled",
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        cached=usage.cached_tokens,
        cache_write=usage.cache_write_tokens,
    )


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
            other = None if isinstance(body, ReplyEntry) else body.profile
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
            estimate = 0
    return msgspec.structs.replace(usage, model_calls=calls, tool_calls=tools, active_ms=ms)


def _plus(total: RunUsage, usage: Usage | None) -> RunUsage:
    return total if usage is None else total.plus(bounded(usage))
