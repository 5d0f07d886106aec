"""Patience with endpoints: how long a call is waited for, what is asked again, and when.

One policy for every provider, so that a person sees the same behaviour whoever answers.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from nanobot.errors import ModelProtocolError, ModelRateLimited
from nanobot.ports import Clock
from nanobot.providers.base import Delta, Retrying
from nanobot.providers.openai_errors import ProviderFailure

_LONGEST_WAIT = 60.0


@dataclass(frozen=True)
class CallPolicy:
    """How patient a call is. All in seconds, but `attempts` and `max_bytes`.

    `first_byte_seconds` may pass until the first byte and `stall_seconds` between any two;
    `call_seconds` bounds one attempt. `jitter` gives numbers from 0 to 1.
    """

    attempts: int = 6
    protocol_attempts: int = 3
    backoff_seconds: float = 0.5
    max_backoff_seconds: float = 16.0
    connect_seconds: float = 10.0
    first_byte_seconds: float = 120.0
    stall_seconds: float = 60.0
    call_seconds: float = 900.0
    max_bytes: int = 8_000_000
    jitter: Callable[[], float] = random.random

    def delay(self, failed: int, failure: ProviderFailure) -> float:
        """Seconds to wait after the nth failure: doubling, or what the endpoint asks for.

        Raises ModelRateLimited when it asks for more than a minute."""
        wish = failure.retry_after or 0.0
        if wish > _LONGEST_WAIT:
            raise ModelRateLimited(str(failure.error), wish)
        backoff = min(self.max_backoff_seconds, self.backoff_seconds * 2.0 ** (failed - 1))
        return max(wish, backoff * (0.75 + 0.5 * self.jitter()))


class AttemptFailed(Exception):
    """One attempt ended without its Completion."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.why)
        self.failure = failure


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Delta]],
    policy: CallPolicy,
    clock: Clock,
    learn: Callable[[ProviderFailure], bool],
) -> AsyncGenerator[Delta]:
    """The deltas of the first attempt that succeeds, with a Retrying before each further one.

    `learn` says whether a failure taught something that makes another attempt worth while at once.
    Raises the ModelError of the last attempt.
    """
    failed = 0
    misread = 0
    while True:
        try:
            async with aclosing(attempt()) as deltas:
                async for delta in deltas:
                    yield delta
        except AttemptFailed as problem:
            failure = problem.failure
        else:
            return
        if learn(failure):
            yield Retrying(0.0, "the endpoint refuses a parameter; asking without it")
            continue
        failed += 1
        misread += isinstance(failure.error, ModelProtocolError)
        spent = failed >= policy.attempts or misread >= policy.protocol_attempts
        if spent or not failure.again:
            raise failure.error
        delay = policy.delay(failed, failure)
        yield Retrying(delay, failure.why)
        await clock.sleep(delay)
