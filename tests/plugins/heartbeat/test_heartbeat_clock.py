"""When beats come: aligned to the clock, each once, none made up for, none in quiet hours."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.messages import Address
from nanobot.plugins.common.jobs.triggers import Publisher, Taken
from nanobot.plugins.heartbeat.heartbeat import (
    LATE_SECONDS,
    ChatSituation,
    Heartbeat,
    HeartbeatSchedule,
)
from nanobot.plugins.quiet.daily import hours_of
from nanobot.testing.machine import ManualClock
from tests.plugins.heartbeat.beating import at, wanted

CHAT = Address("fake", "1")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns")

NIGHTS = (("22:00", "08:00"), ("01:30", "02:30"), ("02:00", "03:00"), ("13:00", "12:00"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with something to look after."""
    folder = tmp_path_factory.mktemp("workspace")
    wanted(folder)
    return folder


class Over(Exception):
    """The test has seen enough."""


class Passing(ManualClock):
    """Time that passes by itself, until it is over."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.end = now

    async def sleep(self, seconds: float) -> None:
        if self.now() >= self.end:
            raise Over
        await super().sleep(seconds)


class Kept:
    """What became of everything that was published, as a store keeps it; also what it knows of the
    chat. `fails`: so many of the next calls fail."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.taken: dict[str, float] = {}
        self.fails = 0

    async def publish(self, _: str, *, key: str = "") -> Taken:
        if self.fails:
            self.fails -= 1
            raise StoreError("the disk is full")
        if key in self.taken:
            return "known"
        self.taken[key] = self.clock.now()
        return "taken"

    async def home(self) -> Address | None:
        return CHAT

    async def around(self, address: Address, _: int) -> ChatSituation:
        return ChatSituation(session_key=str(address))

    async def greeted(self, _: str) -> float | None:
        return None

    async def busy(self, _: str) -> bool:
        return False


def beating(folder: Path, kept: Kept, rhythm: HeartbeatSchedule) -> Heartbeat:
    def into(_address: Address, _around: ChatSituation) -> Publisher:
        return kept

    async def able() -> bool:
        return True

    return Heartbeat(folder, rhythm, kept, kept.clock, into, able)


async def lived(beats: Heartbeat, kept: Kept, seconds: float) -> None:
    """One process for so long."""
    assert isinstance(kept.clock, Passing)
    kept.clock.end = kept.clock.now() + seconds
    with pytest.raises(Over):
        await beats.run(kept)


async def test_beats_stand_on_the_clock_whenever_the_process_began(tmp_path: Path) -> None:
    wanted(tmp_path)
    kept = Kept(Passing(at("2026-03-10T12:07:11")))
    await lived(beating(tmp_path, kept, HeartbeatSchedule(interval=1_800)), kept, 3 * 3_600)
    shown = [datetime.fromtimestamp(time, ZoneInfo("UTC")) for time in kept.taken.values()]
    assert [f"{time:%H:%M:%S}" for time in shown] == [
        "12:30:00",
        "13:00:00",
        "13:30:00",
        "14:00:00",
        "14:30:00",
        "15:00:00",
    ]


async def test_a_restart_doubles_nothing_and_makes_up_for_nothing(tmp_path: Path) -> None:
    wanted(tmp_path)
    kept = Kept(Passing(at("2026-03-10T12:00:00")))
    beats = beating(tmp_path, kept, HeartbeatSchedule(interval=1_800))
    for _ in range(4):
        await lived(beats, kept, 7)
    assert kept.taken == {}
    kept.clock.advance(10_000)
    await lived(beats, kept, 60)
    assert kept.taken == {}


async def test_a_clock_that_is_set_back_or_forward_doubles_no_beat_and_stops_none(
    tmp_path: Path,
) -> None:
    wanted(tmp_path)
    kept = Kept(Passing(at("2026-03-10T12:00:01")))
    beats = beating(tmp_path, kept, HeartbeatSchedule(interval=600))
    await lived(beats, kept, 1_500)
    assert len(kept.taken) == 2
    kept.clock.set_by(-1_500)
    await lived(beats, kept, 1_500)
    assert len(kept.taken) == 2
    kept.clock.set_by(5 * 86_400)
    await lived(beats, kept, 1_200)
    assert len(kept.taken) == 4
    kept.clock.set_by(-365 * 86_400)
    await lived(beats, kept, 1_200)
    assert len(kept.taken) == 6


async def test_a_machine_that_slept_over_a_beat_goes_on_with_the_next(tmp_path: Path) -> None:
    wanted(tmp_path)

    class Sleepy(Passing):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if 0 <= self.now() % 3_600 - 1_790 < 30:
                self.advance(LATE_SECONDS + 60)

    kept = Kept(Sleepy(at("2026-03-10T12:00:01")))
    await lived(beating(tmp_path, kept, HeartbeatSchedule(interval=1_800)), kept, 4 * 3_600)
    assert {int(time % 3_600) for time in kept.taken.values()} == {0}


async def test_a_beat_that_fails_is_over(tmp_path: Path) -> None:
    wanted(tmp_path)
    kept = Kept(Passing(at("2026-03-10T12:00:01")))
    beats = beating(tmp_path, kept, HeartbeatSchedule(interval=600))
    kept.fails = 1
    with pytest.raises(StoreError):
        await lived(beats, kept, 3_600)
    await lived(beats, kept, 3_600)
    assert len(kept.taken) == 6


@pytest.mark.process
@settings(max_examples=25)
@given(
    st.sampled_from(ZONES),
    st.sampled_from([60.0, 300.0, 777.0, 1_800.0, 7_200.0]),
    st.sampled_from(
        [("22:00", "08:00"), ("01:30", "02:30"), ("02:00", "03:00"), ("13:00", "12:00")]
    ),
    st.sampled_from(["2026-03-07", "2026-03-28", "2026-10-24", "2026-10-31", "2026-04-04"]),
    st.integers(0, 2**32),
)
async def test_random_restarts_over_nights_that_change_never_double_and_never_disturb(
    workspace: Path, zone: str, interval: float, quiet: tuple[str, str], day: str, seed: int
) -> None:
    rng = random.Random(seed)
    hours = hours_of(*quiet, zone, "heartbeat")
    assert hours is not None
    clock = Passing(at(f"{day}T12:00", zone) + rng.random() * interval)
    kept = Kept(clock)
    for _ in range(rng.randrange(1, 8)):
        beats = beating(
            workspace, kept, HeartbeatSchedule(interval=interval, hours=hours, zone=zone)
        )
        await lived(beats, kept, rng.choice([5.0, 100.0, 5_000.0, 30_000.0]))
        clock.advance(rng.choice([0.0, 1.0, 50.0, 4_000.0]))
        clock.set_by(rng.choice([0.0, 0.0, -3_000.0, 3_000.0]))
    for key, time in kept.taken.items():
        moment = float(key)
        assert 0 <= time - moment < LATE_SECONDS
        assert moment % interval == 0
        shown = datetime.fromtimestamp(time, ZoneInfo(zone)).strftime("%H:%M")
        first, last = quiet
        within = first <= shown < last if first < last else shown >= first or shown < last
        assert not within, shown
