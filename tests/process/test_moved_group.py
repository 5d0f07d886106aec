"""A Telegram group that becomes a supergroup, as Telegram tells of it."""

from __future__ import annotations

import pytest

from tests.process.harness import World

OLD, NEW, OWNER = -5, -1_000_005, 1


async def say(world: World, chat: int, text: str) -> None:
    """Everything in a poll of its own."""
    await world.acknowledged(world.telegram.say(chat, f"@nano_bot {text}", sender=OWNER))


async def announce(world: World, what: str) -> None:
    """One of the two service messages; that in the supergroup is the first there."""
    if what == "to":
        update = world.telegram.say(OLD, "", migrate_to_chat_id=NEW)
    else:
        update = world.telegram.say(NEW, "", migrate_from_chat_id=OLD)
    await world.acknowledged(update)


@pytest.mark.parametrize("order", [("to", "from"), ("from", "to"), ("from",)], ids="-".join)
async def test_it_stays_one_session_in_whichever_order_its_move_is_told(
    world: World, order: tuple[str, ...]
) -> None:
    await world.start()
    await say(world, OLD, "say:before")
    assert await world.answered(OLD) == ["before"]
    for what in order:
        await announce(world, what)
    await say(world, NEW, "say:after")
    assert await world.answered(NEW) == ["after"]
    assert "say:before" in str(world.model.requests[-1]["messages"])
    assert world.rows("SELECT key FROM sessions") == [(f"telegram:{OLD}",)]


async def test_in_between_the_old_group_s_word_and_the_new_one_s_it_is_one_session(
    world: World,
) -> None:
    """A message of the supergroup comes after its own first message, which names the old group:
    Telegram keeps the updates of a chat in order."""
    await world.start()
    await say(world, OLD, "say:before")
    await world.answered(OLD)
    await announce(world, "from")
    await say(world, NEW, "say:between")
    await announce(world, "to")
    await world.answered(NEW)  # what is said during an answer joins it
    await say(world, NEW, "say:after")
    await world.answered(NEW, 2)
    assert world.rows("SELECT key FROM sessions") == [(f"telegram:{OLD}",)]
