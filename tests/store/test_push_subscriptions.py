"""Browsers that are notified: rows that belong to a login, in a store that several may share."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.plugins.common.store import access_tables
from nanobot.plugins.page.store import (
    FormerSubscription,
    PushSubscription,
    SqlPushSubscriptions,
)
from nanobot.plugins.web_access.store import AccessToken, SqlAccessTokens
from tests.store.home import Home

NOW = 1_000.0


async def logged_in(home: Home, name: str, until: float | None = None) -> AccessToken:
    token = AccessToken(
        digest=f"digest of {name}",
        kind="browser",
        name=name,
        role=Role.OWNER,
        made_at=NOW,
        expires_at=until,
    )
    return await SqlAccessTokens(home.database, home.reader).add(token)


def of(login: AccessToken, endpoint: str = "", told: int = 0, by: str = "") -> PushSubscription:
    return PushSubscription(
        login=login.digest,
        endpoint=endpoint or f"https://push.example.org/{login.name}",
        p256dh="p",
        auth="a",
        by=by or login.name,
        session_key="cli:local",
        told=told,
        role=Role.OWNER,
    )


def store(home: Home) -> SqlPushSubscriptions:
    return SqlPushSubscriptions(home.database, home.reader)


async def living(home: Home, now: float = NOW) -> list[PushSubscription]:
    return await store(home).living(now)


async def rows(home: Home) -> int:
    count = sa.select(sa.func.count()).select_from(access_tables.push_subscriptions)
    return await home.do(lambda connection: connection.scalar(count) or 0)


async def test_it_has_the_role_of_its_login_and_ends_with_it(home: Home) -> None:
    anna, bob = await logged_in(home, "anna"), await logged_in(home, "bob", NOW + 10)
    for each in (of(anna), of(bob)):
        await store(home).keep(each)
    assert await living(home) == [of(anna), of(bob)]
    assert await living(home, NOW + 10) == [of(anna)]
    await SqlAccessTokens(home.database, home.reader).remove("anna")
    assert await living(home) == [of(bob)]
    late = msgspec.structs.replace(bob, digest="other", name="late", made_at=NOW + 20)
    await SqlAccessTokens(home.database, home.reader).add(late)
    assert await rows(home) == 0


async def test_a_token_that_is_revoked_takes_the_subscriptions_of_its_browsers_with_it(
    home: Home,
) -> None:
    token = AccessToken(digest="t", kind="token", name="anna", role=Role.MEMBER, made_at=NOW)
    await SqlAccessTokens(home.database, home.reader).add(token)
    await store(home).keep(of(await logged_in(home, "anna (browser)")))
    await SqlAccessTokens(home.database, home.reader).remove("anna")
    assert await rows(home) == 0


async def test_a_browser_has_one_subscription_and_an_endpoint_one_browser(home: Home) -> None:
    anna, bob = await logged_in(home, "anna"), await logged_in(home, "bob")
    await store(home).keep(of(anna, "https://push.example.org/1", told=4))
    await store(home).keep(of(anna, "https://push.example.org/2", told=5))
    assert await living(home) == [of(anna, "https://push.example.org/2", told=5)]
    await store(home).keep(of(anna, "https://push.example.org/2", told=9))
    assert await living(home) == [of(anna, "https://push.example.org/2", told=5)]
    await store(home).keep(of(bob, "https://push.example.org/2", told=9))
    assert await living(home) == [of(bob, "https://push.example.org/2", told=9)]


async def test_nobody_ends_what_is_another_persons(home: Home) -> None:
    anna = await logged_in(home, "anna")
    await store(home).keep(of(anna))
    await store(home).drop(of(anna).endpoint, "bob")
    assert await living(home) == [of(anna)]
    await store(home).drop(of(anna).endpoint, "anna")
    assert await living(home) == []


async def test_what_was_told_never_becomes_less(home: Home) -> None:
    anna = await logged_in(home, "anna")
    await store(home).keep(of(anna))
    await asyncio.gather(*(store(home).told(of(anna).endpoint, n) for n in (3, 7, 5)))
    assert await living(home) == [of(anna, told=7)]


async def test_all_that_offer_a_key_at_once_get_the_same(home: Home) -> None:
    assert await store(home).key() is None
    offered = await asyncio.gather(*(store(home).offer_key(f"key {n}") for n in range(5)))
    assert set(offered) == {await store(home).key()}


@pytest.mark.process
async def test_there_is_a_limit(home: Home) -> None:
    for number in range(200):
        await store(home).keep(of(await logged_in(home, f"b{number}")))
    with pytest.raises(UsageError, match="200 browsers"):
        await store(home).keep(of(await logged_in(home, "one more")))


async def test_former_subscriptions_are_taken_over_with_their_key_only(home: Home) -> None:
    anna = await logged_in(home, "anna")
    mine = FormerSubscription(name="anna", made_at=NOW, subscription=of(anna, told=2))
    other = FormerSubscription(name="anna", made_at=NOW - 1, subscription=of(anna, "https://x/y"))
    assert await store(home).bring("their key", [mine, other]) == 1
    assert await store(home).bring("their key", [mine, other]) == 1, "the same again after a crash"
    assert await living(home) == [of(anna, told=2)]
    assert await store(home).bring("another key", [other]) == 0
    assert await store(home).key() == "their key"
