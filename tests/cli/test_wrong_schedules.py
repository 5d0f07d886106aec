"""Wrong schedules on the command line: a sentence on standard error, the exit code of a wrong use,
and no job."""

from __future__ import annotations

import time

import pytest

from tests.cli.running import run_in
from tests.plugins.cron.wrong_schedules import MAKERS, assert_refused, wrong_schedules
from tests.process.harness import World


@pytest.mark.parametrize(
    "kinds", [slice(0, None, 5), pytest.param(slice(None), marks=pytest.mark.slow)]
)
async def test_on_the_command_line(world: World, kinds: slice) -> None:
    """Every fifth kind; `make prove` has all."""
    schedules = list(wrong_schedules(1, seed=3))
    assert len(schedules) == len(MAKERS)
    for number, schedule in enumerate(schedules[kinds]):
        road = (
            ["cron", "add", "Look at it", f"--schedule={schedule}"],
            ["cron", "preview", "--", schedule],
        )[number % 2]
        ran = await run_in(world, *road)
        assert (ran.code, ran.out) == (2, ""), (schedule, ran)
        assert_refused(ran.err, schedule, time.time())
    assert (await run_in(world, "cron", "list", "--json")).out == "[]\n"
