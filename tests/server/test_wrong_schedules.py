"""Wrong schedules over HTTP: each is answered with 400 and what would be right."""

from __future__ import annotations

import time

from tests.plugins.cron.wrong_schedules import assert_refused, ends_itself, wrong_schedules
from tests.server.housing import Client


async def test_over_http(owner: Client) -> None:
    assert (await owner.post("/api/cron/add", text="every day at 9 Tea!", name="tea"))[0] == 200
    for schedule in wrong_schedules(3, seed=2):
        asked = [
            await owner.post("/api/cron/add", schedule=schedule, text="Look"),
            await owner.post("/api/cron/edit", job="tea", schedule=schedule),
            await owner.get("/api/cron/preview", text=schedule),
        ]
        for status, answer in asked:
            assert (status, answer["error"]["code"]) == (400, "bad_request"), (schedule, answer)
            assert_refused(answer["error"]["message"], schedule, time.time())
        if ends_itself(schedule):
            status, answer = await owner.post("/api/cron/add", text=f"{schedule} Look at it")
            assert status == 400, (schedule, answer)
            assert_refused(answer["error"]["message"], schedule, time.time(), named=6)
    _, rows = await owner.get("/api/cron/list")
    assert [(row["name"], row["schedule"]) for row in rows] == [("tea", "0 9 * * *")]
