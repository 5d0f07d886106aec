"""What is reserved before a model call, and settled when its result is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from nanobot.providers.base import Price, Usage
from nanobot.session.entries import (
    Body,
    FailedEntry,
    FallbackEntry,
    OverflowEntry,
    ReplyEntry,
)
from nanobot.session.usage import bounded, dollars, guess

_DEAD = (FallbackEntry, OverflowEntry, FailedEntry)
"""Entries after a call that produced nothing."""
ENDING = (ReplyEntry, *_DEAD)
"""Entries that end a call."""
_SLACK, _OVERHEAD = 4, 4_096
_BYTES = 3
"""Of a token, as estimates assume."""
_ANY = 2**53


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


def prompt_at_most(price: Price) -> float:
    """The maximum price of a prompt token."""
    return max(price.prompt, price.cached or 0.0, price.cache_write or 0.0)


class CallEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated maximum of a call: tokens of its prompt and of its answer, at a price (None:
    unknown, so only tokens and requests count)."""

    tokens_in: int
    tokens_out: int
    price: Price | None

    def believed(self, usage: Usage, said: int) -> Usage:
        """The reported tokens of an answer of about `said` tokens: without a sensible number, the
        estimate. A server can ignore the limit of an answer, but has then sent what it reports.
        """
        longest = max(self.tokens_out, _BYTES * said)
        tokens = msgspec.structs.replace(self, tokens_out=longest).bounded(usage)
        if tokens.prompt_tokens <= 0:
            tokens = msgspec.structs.replace(tokens, prompt_tokens=self.tokens_in)
        if tokens.completion_tokens <= 0:
            tokens = msgspec.structs.replace(tokens, completion_tokens=said)
        return tokens

    def bounded(self, usage: Usage) -> Usage:
        """Limit the reported tokens to the most that the call could have used. The estimate may be
        too low: it assumes three bytes per token, and a token has at least one.
        """
        most_in = _SLACK * self.tokens_in + _OVERHEAD
        return bounded(usage, most_in, self.tokens_out + _OVERHEAD)

    @property
    def used(self) -> UsageSum:
        """The usage to reserve."""
        return UsageSum(requests=1, tokens=self.tokens_in + self.tokens_out, cost=self.cost)

    @property
    def at_most(self) -> UsageSum:
        """The most that `bounded` leaves of any usage: more than what is reserved."""
        most = self.bounded(Usage(_ANY, _ANY))
        tokens = most.prompt_tokens + most.completion_tokens
        cost = self._cost(most.prompt_tokens, most.completion_tokens)
        return UsageSum(requests=1, tokens=tokens, cost=cost)

    @property
    def cost(self) -> float:
        """Maximum dollars: assumes nothing is read from the provider's cache and all is written."""
        return self._cost(self.tokens_in, self.tokens_out)

    def _cost(self, tokens_in: int, tokens_out: int) -> float:
        price = self.price
        if price is None:
            return 0.0
        return dollars(tokens_in * prompt_at_most(price) + tokens_out * price.completion)


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
            return _broken_off(None if isinstance(body, OverflowEntry) else body.usage)
    if ended is None:
        return None
    if ended == "unclean":
        return lost(reserved)
    return CallOutcome(state="estimated", tokens_in=reserved.tokens_in, tokens_out=0)


def lost(reserved: CallEstimate) -> CallOutcome:
    """The outcome of a call whose process died before the result was recorded."""
    return CallOutcome(state="lost", tokens_in=reserved.tokens_in, tokens_out=reserved.tokens_out)


def _broken_off(usage: Usage | None) -> CallOutcome:
    """The outcome of a failed request, whose answer had begun if there is a usage."""
    if usage is None:
        return CallOutcome(state="failed", tokens_in=0, tokens_out=0)
    tokens = usage.clamped()
    return CallOutcome(
        state="estimated", tokens_in=tokens.prompt_tokens, tokens_out=tokens.completion_tokens
    )


def _replied(reserved: CallEstimate, reply: ReplyEntry) -> CallOutcome:
    said = guess(reply)
    if reply.usage is None:
        return CallOutcome(state="estimated", tokens_in=reserved.tokens_in, tokens_out=said)
    usage = reserved.believed(reply.usage, said)
    return CallOutcome(
        state="settled",
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        cached=usage.cached_tokens,
        cache_write=usage.cache_write_tokens,
    )
