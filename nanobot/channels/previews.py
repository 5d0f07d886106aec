"""Previews: while a model writes, the chat sees what it has so far, in what becomes the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.activity import Activity, RunInProgress
from nanobot.channels.sender import PartSender
from nanobot.errors import DeliveryError, OutcomeUnknown, StoreError
from nanobot.messages import OutboundMessage
from nanobot.ports import Clock, OutboundPart
from nanobot.session import keys
from nanobot.session.journal import Journal
from nanobot.session.outbox import OutboundRow

PREVIEW_AFTER = 1.0
"""Seconds of work until a preview is shown: an answer that comes at once should cost nothing."""
FIRST_INTERVAL = 1.5
LAST_INTERVAL = 6.0
"""Seconds between two versions of a preview: at first, and where it grows to in a long answer."""
CURSOR = "▌"

_LOOK_SECONDS = 0.5
_GROWTH = 1.1


class _Preview:
    """What is shown of one run. `busy` is held while the platform is being told."""

    def __init__(self) -> None:
        self.busy = asyncio.Lock()
        self.over = False
        self.row: OutboundRow | None = None
        self.text = ""
        self.shown = OutboundPart(text="")


class Previews:
    """The previews of one channel, which must be Editing.

    Each is a row of the journal before it is sent, and its receipt is kept before it is edited, so
    that the answer finds it, after a crash too. Whatever the platform refuses ends the previews of
    that run. `text_of` gives what a run has said so far, None once it is not driven here.
    """

    def __init__(
        self,
        sender: PartSender,
        journal: Journal,
        clock: Clock,
        activity: Activity,
        text_of: Callable[[str], str | None],
        *,
        show_tools: bool = False,
    ) -> None:
        self._sender = sender
        self._journal = journal
        self._clock = clock
        self._activity = activity
        self._text_of = text_of
        self._show_tools = show_tools
        self._previews: dict[str, _Preview] = {}
        self._resting = False

    async def run(self) -> None:
        """Show what is worked on, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._activity.any()
                await self._clock.sleep(_LOOK_SECONDS)
                due = self._clock.monotonic() - PREVIEW_AFTER
                for run in list(self._activity.runs.values()):
                    if self._sender.drafts(run.address):
                        continue  # shown as a draft
                    if run.reply_key and run.since <= due and run.reply_key not in self._previews:
                        preview = self._previews[run.reply_key] = _Preview()
                        tasks.create_task(self._follow(run, preview), name=f"preview {run.run_id}")

    async def release_preview(self, key: str) -> None:
        """The message of that key is to be delivered: returns once its preview is left alone."""
        before_a_question = keys.answer_of(key)
        preview = self._previews.get(key) or self._previews.get(before_a_question)
        if preview is not None:
            preview.over = True
            async with preview.busy:
                pass

    async def rest(self) -> None:
        """Begin nothing any more, and wait for what is being shown."""
        self._resting = True
        for preview in list(self._previews.values()):
            async with preview.busy:
                pass

    async def _follow(self, run: RunInProgress, preview: _Preview) -> None:
        """Show one run until it ends or the platform says no."""
        interval = FIRST_INTERVAL
        try:
            while True:
                async with preview.busy:
                    with boundary(f"preview of run {run.run_id}") as caught:
                        changed = await self._refresh(run, preview)
                if caught.error is not None or preview.over:
                    break
                await self._clock.sleep(interval if changed else _LOOK_SECONDS)
                if changed:
                    interval = min(interval * _GROWTH, LAST_INTERVAL)
                if self._activity.runs.get(run.run_id) is not run:
                    break
            while self._activity.runs.get(run.run_id) is run:  # refused: none of this run any more
                await self._clock.sleep(LAST_INTERVAL)
        finally:
            del self._previews[run.reply_key]

    async def _refresh(self, run: RunInProgress, preview: _Preview) -> bool:
        """Show what is new, if there is and no answer needs the rate. True: it was shown."""
        text = self._text_of(run.run_id)
        if text is None or preview.over or self._resting:
            return False
        preview.text = text or preview.text
        part = await self._part(run, preview.text)
        unchanged = (part.text, part.payload) == (preview.shown.text, preview.shown.payload)
        edit = preview.row is not None and preview.row.standing is not None
        if unchanged or not self._sender.rates.free(run.address.chat_id, edit=edit):
            return False
        try:
            if preview.row is None and await self._journal.next_outbound(run.address) is not None:
                return False  # what was owed before comes before
            preview.over = not await self._show(run, preview, part)
        except (DeliveryError, StoreError) as error:
            logger.info("{}: no more previews of run {}: {}", run.address, run.run_id, error)
            preview.over = True
        preview.shown = part
        return True

    async def _part(self, run: RunInProgress, text: str) -> OutboundPart:
        """What is to be seen, within one part; empty while there is nothing to see."""
        lines = [f"{text} {CURSOR}"] if text.strip() else []
        if self._show_tools and run.tool:
            lines = [*([text] if text.strip() else []), f"`{run.tool}`"]
        if not lines:
            return OutboundPart(text="")
        message = _message(run, "\n\n".join(lines))
        rendered = await self._sender.render(message)
        return msgspec.structs.replace(rendered[0], key=f"{message.key}:p")

    async def _show(self, run: RunInProgress, preview: _Preview, part: OutboundPart) -> bool:
        """Make the preview that part. False: there is nothing to be shown for this run."""
        row = preview.row
        if row is None:
            message = _message(run, preview.text)
            row = await self._journal.preview(run.run_id, message, part)
            if row is None:
                return False
        if row.standing is not None:
            preview.row = row
            await self._sender.replace(run.address, row.standing, part)
            return True
        preview.row = await self._sent(row, part)
        return True

    async def _sent(self, row: OutboundRow, part: OutboundPart) -> OutboundRow:
        try:
            receipt = await self._sender.send(row.message.address, part)
        except OutcomeUnknown:
            raise
        except DeliveryError as error:
            await self._journal.defer(row, 0, 0.0, str(error))
            raise
        await self._journal.receipt(row, 0, receipt, begin=None)
        first = msgspec.structs.replace(row.parts[0], receipt=receipt)
        return msgspec.structs.replace(row, parts=(first,))


def _message(run: RunInProgress, text: str) -> OutboundMessage:
    return OutboundMessage(address=run.address, text=text, key=run.reply_key, reply_to=run.reply_to)
