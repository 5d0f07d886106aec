"""kill -9 around the moment at which something is due: it is done once, its answer told once."""

from __future__ import annotations

import pytest

from tests.process.harness import World, without_repeats


# A look at the store is taken at the start and after the job was made; the third one fires it.
@pytest.mark.parametrize(
    "point",
    [
        "cron_fire:3:after",
        "start_model:after",
        "finish:after",
        pytest.param("cron_fire:3:before", marks=pytest.mark.slow),
        pytest.param("claim:before", marks=pytest.mark.slow),
        pytest.param("claim:after", marks=pytest.mark.slow),
        pytest.param("start_model:before", marks=pytest.mark.slow),
        pytest.param("finish:before", marks=pytest.mark.slow),
        pytest.param("cron_fire:4:before", marks=pytest.mark.slow),
        pytest.param("cron_fire:4:after", marks=pytest.mark.slow),
    ],
)
async def test_a_prompt_that_was_due_is_answered_once(world: World, point: str) -> None:
    """The other points are among those of `make prove`."""
    gateway = await world.launch(crash_at=point)
    await gateway.ready()
    world.telegram.say(1, "/cron add +2s say:it is time")
    await gateway.died()

    gateway = await world.start()
    await world.eventually(lambda: "it is time" in world.texts(1))
    assert await gateway.stop() == 0
    assert without_repeats(world.texts(1))[1:] == ["it is time"]
    assert world.rows("SELECT status, attempt FROM occurrences") == [("done", 1)]
    assert world.rows("SELECT count(*) FROM runs") == [(1,)]
    world.verify()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_text_that_was_due_is_sent_once(world: World, when: str) -> None:
    gateway = await world.launch(crash_at=f"cron_fire:3:{when}")
    await gateway.ready()
    world.telegram.say(1, "/cron add send=yes +2s Tea!")
    await gateway.died()

    gateway = await world.start()
    await world.eventually(lambda: "Tea!" in world.texts(1))
    assert await gateway.stop() == 0
    assert without_repeats(world.texts(1))[1:] == ["Tea!"]
    assert world.rows("SELECT status FROM occurrences") == [("done",)]
    world.verify()


async def test_a_chat_of_no_channel_is_refused_when_it_is_named(world: World) -> None:
    await world.start()
    world.telegram.say(1, "/cron add to=telgram:1 +2s Tea!")
    (text,) = await world.answered(1)
    assert text == "to: no channel 'telgram' is on; there are cli, telegram, web."
    world.telegram.say(1, "/cron list")
    assert (await world.answered(1, 2))[1].startswith("Nothing found. cron add")
