"""While the plugin is off, the platform lists no commands; every command works as before."""

from __future__ import annotations

from tests.process.harness import World

CHAT = 1


async def test_commands_that_no_menu_lists_are_answered(world: World) -> None:
    world.configure(top='plugins.off = ["menus"]')
    gateway = await world.start()
    world.telegram.say(CHAT, "/help")
    (listed,) = await world.answered(CHAT)
    assert "/status" in listed
    assert await gateway.stop() == 0
    assert world.telegram.calls_of("setMyCommands") == []
