"""Pushes what a person should see: approvals that they may decide, and answers on the page.

An approval is pushed to each browser, even after restarts: the store knows the pending approvals,
and each subscription records the last one pushed. An answer is pushed when its run ends; a restart
may miss it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from typing import Any, TypeAlias

from nanobot.addresses import MEMBERS_CHAT
from nanobot.boundary import boundary
from nanobot.bus.core import Bus, Subscription
from nanobot.errors import StoreError
from nanobot.messages import WEB, EventKind, Role, RunEvent
from nanobot.plugins.common.approvals import ApprovalRecords, Approver, may_answer
from nanobot.plugins.common.views.shown_calls import shown_call
from nanobot.plugins.page.push.mailbox import Mailbox
from nanobot.plugins.page.push.sender import PushSender
from nanobot.plugins.page.store import PushSubscription, SqlPushSubscriptions
from nanobot.ports import Clock
from nanobot.session.approvals import Approval

_LOOK_SECONDS = 120.0
_MOST = 100
_MOST_CHARS = 500

Start: TypeAlias = Callable[[Awaitable[None]], "asyncio.Task[None]"]


class _Events(Subscription):
    """Records that approvals may be pending, and which answers arrived."""

    def __init__(self) -> None:
        super().__init__(None, frozenset({EventKind.APPROVAL, EventKind.END}))
        self.some = asyncio.Event()
        self.answered: set[str] = set()

    def offer(self, event: RunEvent) -> None:
        if event.kind is EventKind.END:
            if not event.session_key.startswith(f"{WEB}:") or len(self.answered) >= _MOST:
                return
            self.answered.add(event.session_key)
        elif event.kind is not EventKind.APPROVAL:
            return
        self.some.set()


class PushNotifier:
    """Pushes to the subscribed browsers. `details`: messages contain the question."""

    def __init__(
        self,
        sender: PushSender,
        subscriptions: SqlPushSubscriptions,
        approvals: ApprovalRecords,
        clock: Clock,
        *,
        details: bool,
    ) -> None:
        self._sender = sender
        self._subscriptions = subscriptions
        self._approvals = approvals
        self._clock = clock
        self._details = details
        self._mailboxes: dict[str, Mailbox] = {}

    async def run(self, bus: Bus) -> None:
        """Push until cancelled."""
        events = _Events()
        bus.watch(events)
        try:
            async with asyncio.TaskGroup() as tasks:

                def start(work: Awaitable[None]) -> asyncio.Task[None]:
                    return tasks.create_task(_doing(work), name="web: pushing to a browser")

                while True:
                    await self._look(events, start)
        finally:
            self._mailboxes.clear()
            bus.unsubscribe(events)

    async def _look(self, events: _Events, start: Start) -> None:
        """Wait until there may be something to push, and begin to push it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await events.some.wait()
        events.some.clear()
        answered, events.answered = events.answered, set()
        with boundary("pushing notifications"):
            try:
                await self._owe(answered)
            except StoreError:
                events.answered |= answered
        for mailbox in self._mailboxes.values():
            mailbox.open(start)

    async def last_approval(self) -> int:
        """The number of the last pending approval; 0 if there is none."""
        return max((each.id for each in await self._waiting()), default=0)

    async def _waiting(self) -> list[Approval]:
        return await self._approvals.approvals(session="", state="waiting", limit=_MOST)

    async def _owe(self, answered: Set[str]) -> None:
        living = await self._subscriptions.living(self._clock.now())
        there = {(each.login, each.endpoint): each for each in living}
        for key, mailbox in list(self._mailboxes.items()):
            if (mailbox.subscription.login, mailbox.subscription.endpoint) not in there:
                mailbox.close()
                del self._mailboxes[key]
        if not living:
            return
        waiting = await self._waiting()
        for each in living:
            if each.login not in self._mailboxes:
                self._mailboxes[each.login] = self._mailbox(each)
            mailbox = self._mailboxes[each.login]
            news = [one for one in waiting if one.id > mailbox.told]
            asked = {one.id: self._of_approval(one) for one in news if _may_decide(each, one)}
            upto = max((one.id for one in news), default=0)
            mailbox.owe(asked, upto, sorted(one for one in answered if _theirs(each, one)))

    def _mailbox(self, subscription: PushSubscription) -> Mailbox:
        return Mailbox(subscription, self._sender, self._subscriptions, self._clock)

    def _of_approval(self, approval: Approval) -> dict[str, Any]:
        payload = {"kind": "approval", "id": approval.id, "session": approval.session_key}
        if self._details:
            text = approval.question or shown_call(approval.tool, approval.arguments)
            payload["text"] = text[:_MOST_CHARS]
        return payload


async def _doing(work: Awaitable[None]) -> None:
    await work


def _may_decide(subscription: PushSubscription, approval: Approval) -> bool:
    owner = subscription.role is Role.OWNER
    by = subscription.by
    person = Approver(role=subscription.role, channel="" if owner else WEB, id=by, name=by)
    return may_answer(approval, person)


def _theirs(subscription: PushSubscription, session: str) -> bool:
    """Whether a conversation of the page belongs to this person: an owner's belong to no other
    person, and a member may have several.
    """
    if subscription.role is Role.OWNER:
        return not session.startswith(f"{WEB}:{MEMBERS_CHAT}")
    own = subscription.session_key
    several = subscription.role is Role.MEMBER and session.startswith(f"{own}:")
    return session == own or several
