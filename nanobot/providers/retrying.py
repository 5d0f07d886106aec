"""The retry policy for endpoints: timeouts, what is retried, and when.

All providers share one policy, so that a person sees the same behavior with each.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

import msgspec

from nanobot.errors import ModelProtocolError, ModelRateLimited
from nanobot.ports import Clock
from nanobot.providers.base import Delta, Retrying
from nanobot.providers.openai_errors import ProviderFailure, Speaker
from nanobot.retries import Backoff

_LONGEST_WAIT = 60.0
_LOCAL_FIRST_TOKEN = 600.0
_BACKOFF = Backoff(0.5, 16.0, rng=random.Random())  # noqa: S311 - nothing secret
# After [DONE] only the end of the body is outstanding; reading it lets the connection be reused.
_GOODBYE_SECONDS = 0.1


class ReadingState(Protocol):
    """The progress of an answer: whether the server is done, and whether part of it has arrived."""

    done: bool
    begun: bool


class CallPolicy(msgspec.Struct, frozen=True):
    """The limits of a call."""

    attempts: int = 6
    refused_attempts: int = 3
    """The same if nothing listens (about 1 s)."""
    paid_attempts: int = 3
    """Of those that return part of an answer, or something unreadable, because they are billed."""
    connect_seconds: float = 10.0
    first_token_seconds: float = 120.0
    """Before the first part of an answer."""
    stall_seconds: float = 60.0
    """Between any two pieces after it."""
    call_seconds: float = 900.0
    """Of one attempt."""
    max_bytes: int = 8_000_000
    backoff: Backoff = _BACKOFF

    @classmethod
    def of(cls, first_token_seconds: float, *, local: bool) -> CallPolicy:
        """The default policy, with that limit for the start of an answer; 0: the default."""
        usual = cls()
        seconds = first_token_seconds or (
            _LOCAL_FIRST_TOKEN if local else usual.first_token_seconds
        )
        rest = usual.call_seconds - usual.first_token_seconds
        return cls(first_token_seconds=seconds, call_seconds=seconds + rest)

    def patience(self, answer: ReadingState) -> float:
        """The time limit for the next piece."""
        if answer.done:
            return _GOODBYE_SECONDS
        return self.stall_seconds if answer.begun else self.first_token_seconds

    def delay(self, failed: int, failure: ProviderFailure) -> float:
        """Seconds to wait after this many failures: doubling, half of it if nothing listens, or as
        the endpoint requests.

        Raises ModelRateLimited if it requests more than a minute.
        """
        requested = failure.retry_after or 0.0
        if requested > _LONGEST_WAIT:
            raise ModelRateLimited(str(failure.error), requested)
        delay = self.backoff.delay(failed)
        return max(requested, delay / 2 if failure.refused else delay)


class Endpoint(msgspec.Struct, frozen=True):
    """What a call of another API of an endpoint needs, for one model. `headers` are those of every
    call, with the key."""

    speaker: Speaker
    headers: Mapping[str, str]
    policy: CallPolicy
    clock: Clock


class AttemptFailed(Exception):
    """One attempt ended without a Completion; `paid`: part of an answer arrived."""

    def __init__(self, failure: ProviderFailure, *, paid: bool = False) -> None:
        super().__init__(failure.why)
        self.failure = failure
        self.paid = paid or isinstance(failure.error, ModelProtocolError)


class AnswerEnds:
    """Decides whether an answer that ends without a finish reason, though no connection broke, is
    complete.

    Nearly every endpoint gives a finish reason or says that it is done; if an endpoint has ever
    done so, an answer without one was truncated. An endpoint that never has is asked a second time,
    and then its answer is accepted.
    """

    def __init__(self) -> None:
        self._says_ends: set[str] = set()
        self._silent: set[str] = set()

    def whole(self, model: str, *, complete: bool, begun: bool) -> bool:
        """Whether an answer of that model is complete. `complete`: it says so. `begun`: part of it
        has arrived.
        """
        if complete:
            self._says_ends.add(model)
            return True
        if not begun or model in self._says_ends:
            return False
        asked_again = model in self._silent
        self._silent.add(model)
        return asked_again


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Delta]],
    policy: CallPolicy,
    clock: Clock,
    learn: Callable[[ProviderFailure], bool],
) -> AsyncGenerator[Delta]:
    """The deltas of the first successful attempt, with a Retrying before each further one.

    `learn` tells whether a failure taught something that makes an immediate retry worthwhile.
    Raises the ModelError of the last attempt.
    """
    failed = 0
    paid = 0
    while True:
        try:
            async with aclosing(attempt()) as deltas:
                async for delta in deltas:
                    yield delta
        except AttemptFailed as problem:
            failure = problem.failure
            paid += problem.paid
        else:
            return
        if learn(failure):
            yield Retrying(0.0, "the endpoint refuses a parameter; asking without it")
            continue
        failed += 1
        most = policy.refused_attempts if failure.refused else policy.attempts
        spent = failed >= most or paid >= policy.paid_attempts
        if spent or not failure.again:
            raise failure.error
        delay = policy.delay(failed, failure)
        yield Retrying(delay, failure.why)
        await clock.sleep(delay)
