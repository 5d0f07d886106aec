"""One process serves a channel, and another takes over when it is gone."""

from __future__ import annotations

from tests.store.home import Home, leases_of


async def test_one_process_serves_a_channel_and_goes_on_with_it(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    assert await leases_of(first).hold_channel("telegram")
    assert await leases_of(second).hold_channel("slack")
    assert await leases_of(second).hold_channel("telegram") is not home.shared
    assert await leases_of(first).hold_channel("telegram")


async def test_who_leaves_a_channel_is_followed_at_once(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    await leases_of(second).leave_channel("telegram")
    assert await leases_of(first).hold_channel("telegram")
    await leases_of(second).leave_channel("telegram")
    assert await leases_of(second).hold_channel("telegram") is not home.shared
    await leases_of(first).leave_channel("telegram")
    assert await leases_of(second).hold_channel("telegram")


async def test_who_died_is_followed_when_the_lease_has_run_out(home: Home) -> None:
    assert await leases_of(home.doomed()).hold_channel("telegram")
    assert await leases_of(home.journal("second")).hold_channel("telegram")


async def test_a_lease_from_before_the_clock_was_set_back_holds_nobody_off(home: Home) -> None:
    first, second = home.journal("first"), home.journal("second")
    assert await leases_of(first).hold_channel("telegram")
    await home.execute("UPDATE channel_leases SET until = until + 86400")
    assert await leases_of(second).hold_channel("telegram")
