"""Named tokens, as an owner lists and revokes them in a chat."""

from __future__ import annotations

from nanobot.messages import Role
from nanobot.plugins.web_access.named import NamedAccess
from nanobot.plugins.web_access.operations import operations
from nanobot.plugins.web_access.store import SqlAccessTokens
from nanobot.testing import gateway
from nanobot.testing.gateway import Brought, FakeGateway, Options


def brings(bot: FakeGateway) -> Brought:
    named = NamedAccess(SqlAccessTokens(bot.process, bot.process.writer), bot.home.clock)
    return Brought(operations=tuple(operations()), offers={NamedAccess: named})


async def test_the_words_of_a_group_alone_list_its_tokens_until_they_are_revoked() -> None:
    async with gateway(options=Options(brings=brings)) as bot:

        async def answer(text: str) -> str:
            await bot.channel.push(text)
            return (await bot.channel.pop()).text

        none = "Nothing found. `web tokens add laptop` creates a token for a program."
        assert await answer("/web tokens") == none
        access = bot.offers.get(NamedAccess)
        assert "Creating a token does not work in a chat" in await answer("/web tokens add laptop")
        await access.add("laptop", Role.MEMBER, None)
        assert "laptop" in await answer("/web tokens")
        assert await answer("/web tokens revoke laptop") == "Revoked laptop (token)."
        assert await access.tokens() == []
