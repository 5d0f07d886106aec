"""Push notifications of one gateway that serves the page."""

from __future__ import annotations

from functools import partial

from nanobot.bus.core import Bus
from nanobot.channels.chat_leases import Sharing
from nanobot.config.loader import Config
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.approvals import NO_APPROVALS, ApprovalRecords
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.plugins.page.push.former_files import bring_over
from nanobot.plugins.page.push.notifier import PushNotifier
from nanobot.plugins.page.push.sender import PushSender
from nanobot.plugins.page.push.signing_key import SigningKey
from nanobot.plugins.page.store import SqlPushSubscriptions
from nanobot.ports import Clock
from nanobot.seam.works import Works
from nanobot.store.opening import Store

LEASE = "(notifications)"
"""Its name among the leases of channels; no channel can have this name."""
_NOBODY = "mailto:nobody@example.com"
"""Apple's push service refuses a contact without a public host name."""


def serve(  # noqa: PLR0913 - each is a part
    config: Config,
    store: Store,
    clock: Clock,
    bus: Bus,
    works: Works,
    sharing: Sharing,
    approvals: ApprovalRecords = NO_APPROVALS,
) -> None:
    """Push notifications while the page is served."""
    service = PushService(config, approvals, store, clock)
    works.add("notifications", partial(service.run, bus, sharing))


class PushService:
    """Pushes notifications. Of several processes over one store only the lease holder pushes."""

    def __init__(
        self, config: Config, approvals: ApprovalRecords, store: Store, clock: Clock
    ) -> None:
        web = config.of(WebSettings)
        public = web.public_url
        self.subscriptions = SqlPushSubscriptions(store.database, store.writer)
        self.key = SigningKey(self.subscriptions)
        self.addresses = Addresses(config.of(WebTable).web.allow_private)
        subject = public if public.startswith("https://") else _NOBODY
        sender = PushSender(self.key, clock, self.addresses, subject)
        self.notifier = PushNotifier(
            sender, self.subscriptions, approvals, clock, details=web.push_details
        )
        self._home = config.home

    async def bring_over(self) -> None:
        """See former_files; only then a new key may be made. Raises StoreError."""
        await bring_over(self._home, self.subscriptions)

    async def run(self, bus: Bus, sharing: Sharing) -> None:
        """Push until cancelled; over a shared store, only while no other process does. Raises
        StoreError.
        """
        await self.bring_over()
        await sharing.alone(LEASE, partial(self.notifier.run, bus))
