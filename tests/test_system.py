"""When to try again, and what a connection may cost."""

from __future__ import annotations

import random
import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Event, current_thread
from zoneinfo import ZoneInfo

import pytest

from nanobot.errors import Fenced, StoreUnwritable
from nanobot.retries import STORE_RETRY_SECONDS, Backoff, until_stored
from nanobot.system import SystemClock, sparing_authorities
from nanobot.testing.machine import ManualClock


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 30.0)
    assert [backoff.delay(failures) for failures in range(1, 9)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_million_failures_wait_as_long_as_the_longest_delay() -> None:
    assert Backoff(0.5, 30.0).delay(10**6) == 30.0
    assert Backoff(0.5, 30.0).delay(-1) == Backoff(0.5, 30.0).delay(0) == 0.5


def test_the_same_failures_come_back_at_different_times() -> None:
    backoff = Backoff(10.0, 10.0, rng=random.Random(1))
    delays = [backoff.delay(1) for _ in range(1_000)]
    assert 8.0 <= min(delays) < 8.1 < 11.9 < max(delays) <= 12.0


async def test_a_write_is_tried_until_the_store_takes_it() -> None:
    clock = ManualClock()
    failures = [StoreUnwritable("the disk is full")] * 3

    async def write() -> str:
        if failures:
            raise failures.pop()
        return "written"

    assert await until_stored(write, clock, "a test") == "written"
    assert clock.sleeps == [STORE_RETRY_SECONDS] * 3


def test_a_context_that_asks_no_authority_is_given_none() -> None:
    with sparing_authorities(), ThreadPoolExecutor(1) as elsewhere:
        contexts = [_unasking(), elsewhere.submit(_unasking).result(), ssl.create_default_context()]
    contexts += [_unasking()]
    ours, *others = [context.cert_store_stats()["x509_ca"] for context in contexts]
    assert ours == 0
    assert len(set(others)) == 1


def test_a_context_that_asks_authorities_gets_them_on_another_thread_until_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, load, threads = Event(), ssl.SSLContext.set_default_verify_paths, list[str]()

    def slow(context: ssl.SSLContext) -> None:
        threads.append(current_thread().name)
        assert began.wait(10)
        load(context)

    monkeypatch.setattr(ssl.SSLContext, "set_default_verify_paths", slow)
    with sparing_authorities():
        context = ssl.create_default_context()
        began.set()  # so it did not wait
    assert threads == ["certificates"]
    assert context.cert_store_stats() == ssl.create_default_context().cert_store_stats()


def _unasking() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_default_verify_paths()
    return context


async def test_a_write_that_another_owner_forbids_is_not_repeated() -> None:
    clock = ManualClock()

    async def write() -> None:
        raise Fenced("another process holds it")

    with pytest.raises(Fenced):
        await until_stored(write, clock, "a test")
    assert clock.sleeps == []


@pytest.mark.parametrize("reading", [-1e18, -1.0, 253_402_300_000.0, 1e18, float("inf")])
def test_a_clock_that_says_something_odd_stays_in_the_calendar(reading: float) -> None:
    class Odd(SystemClock):
        def reading(self) -> float:
            return reading

    assert 1969 <= datetime.fromtimestamp(Odd().now(), ZoneInfo("Pacific/Apia")).year <= 2500
