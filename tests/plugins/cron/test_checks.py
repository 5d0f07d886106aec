"""What doctor says of scheduled jobs."""

from __future__ import annotations

from tests.cli.conftest import home as home
from tests.cli.conftest import world as world
from tests.cli.running import run_in
from tests.plugins.setup.test_doctor import doctor
from tests.process.harness import World


async def test_jobs_by_the_utc_of_a_machine_are_a_warning_until_a_zone_is_set(world: World) -> None:
    gateway = await world.start()
    assert "zone" not in (await doctor(world))[1]
    ran = await run_in(world, "cron", "add", "every weekday at 9 Check the builds")
    assert "every weekday at 09:00 (UTC). Next times: " in ran.out
    assert await gateway.stop() == 0
    assert (await doctor(world))[1]["zone"] == ["warning"]
    assert "zone" not in (await doctor(world, TZ="Asia/Tokyo"))[1]
    world.configure(agent='zone = "Europe/Berlin"')
    assert "zone" not in (await doctor(world))[1]
    gateway = await world.start()
    ran = await run_in(world, "cron", "add", "每个工作日9点 看看新闻")
    assert "每个工作日 09:00 (Europe/Berlin)" in ran.out
    assert await gateway.stop() == 0
