"""Gateways over fakes with pairing, as the plugin gives it to one."""

from __future__ import annotations

from nanobot.bus.gate import Strangers
from nanobot.plugins.conversations.operations import operations as of_conversations
from nanobot.plugins.pairing.operations import operations
from nanobot.plugins.pairing.pairing import Pairing
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.plugins.runs.operations import operations as of_runs
from nanobot.testing.gateway import Brought, FakeGateway, Options
from tests.plugins.conversations.reading import offers as listing_offers


def brings(bot: FakeGateway) -> Brought:
    """The operations, and what they and the gate ask for."""
    pairing = Pairing(SqlPairingStore(bot.process, bot.process.writer), bot.home.clock)
    return Brought(
        operations=(*of_conversations(), *of_runs(), *operations()),
        offers={Pairing: pairing, Strangers: pairing, **listing_offers(bot)},
    )


PAIRED = Options(brings=brings)


def pairing(bot: FakeGateway) -> Pairing:
    """Who is let in there."""
    return bot.offers.get(Pairing)
