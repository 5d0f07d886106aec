"""Drafts: while a run works, its chat shows its progress in a draft, which is not a message.

On platforms with drafts no preview is made: there is no row, no receipt and nothing to edit.
"""

from __future__ import annotations

import asyncio

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.channels.companions import ChannelParts
from nanobot.errors import DeliveryError, Refused, StoreError
from nanobot.messages import Address, OutboundMessage
from nanobot.plugins.progress.activity import Activity, RunInProgress, Showing
from nanobot.plugins.progress.calls import Calls
from nanobot.plugins.progress.previews import PREVIEW_AFTER, answer_of
from nanobot.ports import Clock, OutboundPart
from nanobot.session.inbox import Admission
from nanobot.store.journal.outbox import STOPPED_LINE
from nanobot.text import around

DRAFT_EVERY = 1.0
"""Seconds between two versions of a draft."""
DRAFT_KEPT = 20.0
"""A draft without changes is shown again after this time: platforms drop it after 30 s."""

_LOOK_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0
_NOTHING = OutboundPart(text="")


class _Draft:
    """The draft of one run. `busy` is held during a call to the platform."""

    def __init__(self, run: RunInProgress) -> None:
        self.run = run
        self.busy = asyncio.Lock()
        self.over = False
        self.text = ""
        self.shown: OutboundPart | None = None
        self.at = 0.0


class Drafts(Showing):
    """The drafts of one channel, which must be Drafting. A refused draft ends the drafts of its
    run. If drafts are refused permanently, previews replace them."""

    def __init__(self, parts: ChannelParts, activity: Activity, clock: Clock, bus: Bus) -> None:
        self._bus = bus
        self._leases = parts.leases
        self._sender = parts.sender
        self._calls = Calls(parts)
        self._clock = clock
        self._activity = activity
        self._text_of = parts.text_of
        self._drafts: dict[str, _Draft] = {}

    def shows(self, run: RunInProgress) -> bool:
        return self._calls.drafts(run.address)

    def admitting(self, admission: Admission) -> Admission:
        """What ends a run also ends its draft: the notice about the stop, or the message that
        interrupts the run, then has the draft's text."""
        ends = admission.stop is not None
        if not ends and not (admission.for_run and self._bus.busy.mode == "interrupt"):
            return admission
        text = self._drafted(admission.message.address)
        if not text:
            return admission
        text = f"{text}\n\n{STOPPED_LINE}"
        if admission.stop is None:
            return msgspec.structs.replace(admission, drafted=text)
        own = around(text, text.removesuffix(STOPPED_LINE))
        notices = tuple(
            msgspec.structs.replace(message, text=text, own=own)
            if message.address == admission.message.address
            else message
            for message in admission.stop.outbound
        )
        stop = msgspec.structs.replace(admission.stop, outbound=notices)
        return msgspec.structs.replace(admission, stop=stop)

    def _drafted(self, address: Address) -> str:
        """The text of the draft shown in a chat, also by another process. "" if there is none, or
        if the answer has come or is on its way, because the text would then appear twice."""
        for draft in self._drafts.values():
            if draft.run.address == address and draft.shown is not None and self._lives(draft):
                text = self._text_of(draft.run.run_id) or draft.text
                return text or self._bus.peers.draft_in(address)
        return self._bus.peers.draft_in(address) if self._calls.drafts(address) else ""

    def _lives(self, draft: _Draft) -> bool:
        return not draft.over and self._activity.runs.get(draft.run.run_id) is draft.run

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._activity.any()
                await self._clock.sleep(_LOOK_SECONDS)
                due = self._clock.monotonic() - PREVIEW_AFTER
                for run in list(self._activity.runs.values()):
                    if run.reply_key and run.since <= due and run.reply_key not in self._drafts:
                        draft = self._drafts[run.reply_key] = _Draft(run)
                        tasks.create_task(self._follow(draft), name=f"draft {run.run_id}")

    def holds(self, key: str) -> bool:
        draft = self._drafts.get(key)
        return draft is not None and draft.busy.locked()

    async def release(self, key: str) -> None:
        draft = self._drafts.get(key) or self._drafts.get(answer_of(key))
        if draft is not None:
            draft.over = True
            async with draft.busy:
                pass

    async def _follow(self, draft: _Draft) -> None:
        """Show one run until it ends."""
        run = draft.run
        with self._leases.using(run.address.chat_id):
            await self._shown(draft)

    async def _shown(self, draft: _Draft) -> None:
        run = draft.run
        try:
            while self._activity.runs.get(run.run_id) is run:
                async with draft.busy:
                    with boundary(f"draft of run {run.run_id}"):
                        await self._refresh(draft)
                await self._clock.sleep(DRAFT_EVERY)
        finally:
            del self._drafts[run.reply_key]

    async def _refresh(self, draft: _Draft) -> None:
        """Show new text, or repeat a draft that would disappear."""
        run = draft.run
        # A run that waits for the store to record its end is no longer driven, but not over.
        draft.text = self._text_of(run.run_id) or draft.text
        if draft.over or not self.shows(run):
            return
        part = await self._part(run, draft.text)
        fresh = self._clock.monotonic() - draft.at < DRAFT_KEPT
        if (part == draft.shown and fresh) or not self._sender.rates.free(run.address.chat_id):
            return
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):  # the answer waits for it
                if not await self._leases.speaks(run.address):
                    return
                await self._calls.draft(run.address, run.reply_key, part)
        except Refused:
            draft.over = True
        except (DeliveryError, StoreError, TimeoutError) as error:
            logger.debug("{}: a draft could not be shown: {}", run.address, error)
        else:
            draft.shown, draft.at = part, self._clock.monotonic()

    async def _part(self, run: RunInProgress, text: str) -> OutboundPart:
        """The text to show: the end of a long text, and the current tool. An empty part means
        nothing yet; the platform has a text for it."""
        lines = [line for line in (text.strip(), f"`{run.tool}`" if run.tool else "") if line]
        if not lines:
            return _NOTHING
        message = OutboundMessage(
            address=run.address, text="\n\n".join(lines), key=f"{run.reply_key}:d"
        )
        parts = await self._sender.render(message)
        return [part for part in parts if part.file is None][-1]
