"""Where nothing looks up missed messages, live ones are taken, and the cursor stays."""

from __future__ import annotations

from nanobot.channels.live_only import LiveOnly
from nanobot.plugins.common.catching_up import CatchingUp
from tests.doubles.fake_intake import FakeIntake
from tests.plugins.common.test_catching_up import NOW, ROOM, Platform, looking, quiet, said, texts


async def test_live_messages_are_taken_at_once_and_reported() -> None:
    intake, done = FakeIntake("500/100"), list[str]()
    live = LiveOnly(intake, Platform())
    assert await live.begin()
    await live.look_back([ROOM])
    await live.take(said(700), 700, lambda: done.append("700"))
    live.passed(800)
    await live.admit(said(900, reaction=True), 900)
    assert (texts(intake), done, live.kept, live.settled) == (["700", "900"], ["700"], 500, True)


async def test_at_the_very_first_start_now_is_kept() -> None:
    intake = FakeIntake()
    assert not await LiveOnly(intake, Platform()).begin()
    assert intake.stored == f"{NOW}/{NOW}"


async def test_what_was_missed_comes_once_it_can_be_looked_up() -> None:
    platform, intake = Platform(), FakeIntake("998000/100")
    platform.kept[ROOM] = [said(998_500)]
    live = LiveOnly(intake, platform)
    await live.begin()
    await live.look_back([ROOM])
    await live.take(said(999_000), 999_000)
    assert (texts(intake), intake.stored) == (["999000"], "998000/100")
    async with looking(platform, intake, [ROOM]) as ordered:
        await quiet()
        assert ordered.settled
    assert isinstance(ordered, CatchingUp)
    assert texts(intake) == ["999000", "998500"]
