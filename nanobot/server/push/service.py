"""Push notifications of one gateway that serves the page."""

from __future__ import annotations

from functools import partial

from nanobot.bus.core import Bus
from nanobot.channels.lease import ChannelLease
from nanobot.config.loader import Config
from nanobot.ports import Clock
from nanobot.server.push.former_files import bring_over
from nanobot.server.push.notifier import PushNotifier
from nanobot.server.push.sender import PushSender
from nanobot.server.push.signing_key import SigningKey
from nanobot.session.views import Records
from nanobot.store.beats import Beats
from nanobot.store.repositories.access_tokens import SqlAccessTokens
from nanobot.store.repositories.push_subscriptions import SqlPushSubscriptions
from nanobot.tools.network.addresses import Addresses

LEASE = "(notifications)"
"""Its name among the leases of channels; no channel can have this name."""
_NOBODY = "mailto:nobody@example.com"
"""Apple's push service refuses a contact without a public host name."""


class PushService:
    """Pushes notifications. Of several processes over one store only the lease holder pushes."""

    def __init__(
        self, config: Config, records: Records, tokens: SqlAccessTokens, clock: Clock
    ) -> None:
        public = config.web.public_url
        self.tokens = tokens
        self.subscriptions = SqlPushSubscriptions(tokens.database)
        self.key = SigningKey(self.subscriptions)
        self.addresses = Addresses(config.tools.web.allow_private)
        subject = public if public.startswith("https://") else _NOBODY
        sender = PushSender(self.key, clock, self.addresses, subject)
        self.notifier = PushNotifier(
            sender, self.subscriptions, records, clock, details=config.web.push_details
        )
        self._home = config.home
        self._clock = clock

    async def bring_over(self) -> None:
        """See former_files. Raises StoreError."""
        await bring_over(self._home, self.subscriptions)

    async def run(self, bus: Bus, beats: Beats | None) -> None:
        """Push until cancelled; over a shared store, which has `beats`, only while no other process
        does.
        """
        if beats is None:
            await self.notifier.run(bus)
            return
        lease = ChannelLease(LEASE, beats, self._clock)
        while True:
            await lease.wait()
            await lease.holding(partial(self.notifier.run, bus))
