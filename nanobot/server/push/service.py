"""Notifications of one gateway that serves the page."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.ports import Clock
from nanobot.server.push.notifier import PushNotifier
from nanobot.server.push.sender import PushSender
from nanobot.server.push.subscriptions import Subscriptions
from nanobot.session.views import Records
from nanobot.store.repositories.access_tokens import SqlAccessTokens
from nanobot.tools.web.addresses import Addresses

_NOBODY = "mailto:nanobot@localhost"


class PushService:
    """Who is pushed what; `notifier` does it."""

    def __init__(
        self, config: Config, records: Records, tokens: SqlAccessTokens, clock: Clock
    ) -> None:
        public = config.web.public_url
        self.tokens = tokens
        self.subscriptions = Subscriptions(config.home)
        self.addresses = Addresses(config.tools.web.allow_private)
        subject = public if public.startswith("https://") else _NOBODY
        sender = PushSender(self.subscriptions, clock, self.addresses, subject)
        self.notifier = PushNotifier(
            sender, records, tokens, clock, details=config.web.push_details
        )
