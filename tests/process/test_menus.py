"""Who may do more has a menu that says so, from their first message on."""

from __future__ import annotations

from tests.process.harness import World


def names(entries: list[dict[str, str]]) -> set[str]:
    return {entry["command"] for entry in entries}


async def test_an_owner_has_the_owners_menu_once_they_have_written(world: World) -> None:
    await world.start()
    telegram = world.telegram
    await telegram.until(lambda: bool(telegram.extras.commands))
    assert "status" in names(telegram.extras.commands)
    assert telegram.extras.commands_of == {}
    telegram.say(1, "say:hello")
    telegram.say(101, "say:hello")
    await telegram.until(lambda: 1 in telegram.extras.commands_of)
    more = names(telegram.extras.commands_of[1]) - names(telegram.extras.commands)
    assert "reload" in more
    await world.said(101, "hello")
    assert set(telegram.extras.commands_of) == {1}
