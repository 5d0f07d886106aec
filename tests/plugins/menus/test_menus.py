"""The menu of commands: nice, never needed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.host import Hosting
from nanobot.errors import ChannelDown
from nanobot.messages import Role
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.language.menus import CHINESE
from nanobot.plugins.menus.menus import Menus, MenuSettings, menu
from nanobot.ports import Commanding, MenuCommand
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.platform import FakePlatform
from tests.plugins.pairing.paired import PAIRED, pairing

COMMANDS = (MenuCommand("help", "shows this", "/help"),)
MENUS = MenuSettings(by_role={Role.GUEST: COMMANDS})


def hosting(settings: MenuSettings = MENUS) -> Hosting:
    def companions(parts: ChannelParts) -> tuple[Companion, ...]:
        assert isinstance(parts.channel, Commanding)
        return (Menus(parts.name, parts.channel, settings),)

    return Hosting(companions=companions)


async def test_the_menu_is_told_once_the_channel_is_up(platform: FakePlatform) -> None:
    platform.downs.append(ChannelDown("no connection"))
    options = Options(hosting=hosting())
    async with gateway(channel=platform, options=options) as bot:
        await platform.until(lambda: bool(platform.menus))
        await bot.settle()
        assert platform.menus == [COMMANDS]


class PerChat(FakePlatform):
    """A platform with menus of single chats and of groups. `strangers` have never written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[str, list[tuple[MenuCommand, ...]]] = {}
        self.strangers = {"9"}

    async def register_in(self, chat_id: str, commands: Sequence[MenuCommand]) -> None:
        if chat_id in self.strangers:
            raise ChannelDown("chat not found")
        self.own.setdefault(chat_id, []).append(tuple(commands))

    async def register_in_groups(self, commands: Sequence[MenuCommand]) -> None:
        self.own["groups"] = [tuple(commands)]


MORE = (*COMMANDS, MenuCommand("runs", "lists runs", "/runs"))
BY_ROLE = {Role.GUEST: COMMANDS, Role.MEMBER: COMMANDS, Role.OWNER: MORE}


async def test_owners_have_a_menu_of_their_own_and_one_that_is_refused_spoils_no_other() -> None:
    platform = PerChat()
    persons = {"9": Role.OWNER, "7": Role.OWNER, "8": Role.MEMBER}
    options = Options(hosting=hosting(MenuSettings(by_role=BY_ROLE, persons=persons)))
    async with gateway(channel=platform, options=options):
        await platform.until(lambda: "7" in platform.own)
        assert platform.menus == [COMMANDS]
        assert platform.own == {"7": [MORE], "groups": [COMMANDS]}


async def test_the_menu_of_a_chat_is_renewed_when_its_person_writes_in_another_role() -> None:
    platform = PerChat()
    own = hosting(MenuSettings(by_role=BY_ROLE))
    options = msgspec.structs.replace(PAIRED, hosting=own)
    async with gateway(channel=platform, options=options) as bot:
        for _ in range(2):
            await bot.channel.push("hello", chat="9", sender="77")
            await bot.settle()
        assert "9" not in platform.own  # refused, and tried again with each message
        platform.strangers.clear()
        for role in (None, Role.OWNER, None, Role.MEMBER):
            if role is not None:
                await pairing(bot).let_in("fake", "77", role, "me")
            await bot.channel.push("hello", chat="9", sender="77")
            await bot.channel.push("all", chat="-5", sender="77", group=True)
            await bot.settle()
        assert platform.own["9"] == [(), MORE, ()]
        assert set(platform.own) == {"9", "groups"}


async def test_a_menu_that_is_refused_changes_nothing() -> None:
    class Menuless(FakePlatform):
        async def register(self, commands: object) -> None:
            raise ChannelDown("not now")

    options = Options(hosting=hosting())
    async with gateway(channel=Menuless(), options=options) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"


async def test_the_menu_holds_what_its_readers_may_use() -> None:
    async with gateway() as bot:
        members, owners = menu(bot.operations, Role.MEMBER), menu(bot.operations, Role.OWNER)
    assert (members[0].name, owners[0].name) == ("help", "help")
    assert {"help", "new", "stop", "status"} <= {command.name for command in members}
    assert set(members) < set(owners)
    assert all(command.help and command.usage.startswith(f"/{command.name}") for command in owners)
    assert all(" " not in command.name for command in owners)


def test_every_command_of_the_menus_is_explained_in_each_language() -> None:
    every = (*OPERATIONS, *plugin_operations())
    shown = {each.name for each in every if each.listed and " " not in each.name}
    assert set(CHINESE) == shown
    assert all(any(ord(sign) > 0x4E00 for sign in text) for text in CHINESE.values())
