"""What concerns one person of a Telegram group, through a whole gateway and kill -9."""

from __future__ import annotations

import re

from tests.process.harness import World

GROUP, OTHER = -700, -701
STRANGER = 666
MENTION = {"entities": [{"type": "mention", "offset": 0, "length": 9}]}


async def test_a_stranger_and_a_failed_command_are_told_alone_where_the_bot_administers(
    world: World,
) -> None:
    telegram, alone = world.telegram, world.telegram.ephemeral
    alone.administered.add(GROUP)
    gateway = await world.start()
    telegram.say(GROUP, "@nano_bot let me in", sender=STRANGER, **MENTION)
    await telegram.until(lambda: bool(alone.seen_by(STRANGER)))
    telegram.say(GROUP, "/approve@nano_bot 77", sender=1)
    await telegram.until(lambda: bool(alone.seen_by(1)))
    code = re.search(r"code is (\S+)", alone.seen_by(STRANGER)[0])
    assert code is not None
    assert (await world.run("pair", "approve", code[1])).code == 0
    await telegram.until(lambda: len(alone.seen_by(STRANGER)) == 2)
    telegram.say(GROUP, "@nano_bot say:hello", sender=STRANGER, **MENTION)
    assert await world.answered(GROUP) == ["hello"]
    await world.rests(gateway)


async def test_elsewhere_strangers_hear_nothing_and_all_see_what_is_refused(world: World) -> None:
    telegram = world.telegram
    gateway = await world.start()
    telegram.say(OTHER, "@nano_bot let me in", sender=STRANGER, **MENTION)
    telegram.say(OTHER, "/approve@nano_bot 77", sender=1)
    (refused,) = await world.answered(OTHER)
    assert "77" in refused
    assert telegram.ephemeral.messages == []
    await world.rests(gateway)


async def test_what_one_person_was_perhaps_shown_is_repeated_after_a_kill_and_says_so(
    world: World,
) -> None:
    telegram, alone = world.telegram, world.telegram.ephemeral
    alone.administered.add(GROUP)
    first = await world.launch(crash_at="receipt")
    telegram.say(GROUP, "/approve@nano_bot 77", sender=1)
    await first.died()
    assert len(alone.seen_by(1)) == 1
    second = await world.start()
    await world.answered(GROUP)  # the next process has not heard them yet
    (again,) = world.texts(GROUP)
    assert "may be a repeat" in again
    await world.rests(second)
