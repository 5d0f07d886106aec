"""Previews: while a model writes, the chat shows its text so far in a message that becomes the
answer.

Where the platform has growing messages, the preview grows and shows tool calls between the texts.
Elsewhere, or when it can grow no more, it is edited.
"""

from __future__ import annotations

import asyncio

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.companions import ChannelParts
from nanobot.errors import DeliveryError, FormRefused, NotSent, OutcomeUnknown, Refused, StoreError
from nanobot.messages import PREVIEW, Address, OutboundMessage, Step
from nanobot.plugins.progress.activity import Activity, RunInProgress, Showing
from nanobot.plugins.progress.allowance import Allowance
from nanobot.plugins.progress.calls import Calls
from nanobot.plugins.progress.store import PreviewRows
from nanobot.ports import Clock, OutboundPart
from nanobot.session.journal import Journal
from nanobot.session.outbox import OutboundRow

PREVIEW_AFTER = 1.0
"""Seconds of work until a preview is shown, so that a quick answer costs nothing extra."""
FIRST_INTERVAL = 1.5
LAST_INTERVAL = 6.0
"""Seconds between two versions of a preview: at first, and after growing in a long answer."""
CURSOR = "▌"

_REFUSED_EDITS = 2
_MOST_CHATS = 1_000
_LOOK_SECONDS = 0.5
_GROWTH = 1.1


class _Preview:
    """The preview of one run. `busy` is held during a call to the platform."""

    def __init__(self) -> None:
        self.busy = asyncio.Lock()
        self.over = False
        self.row: OutboundRow | None = None
        self.text = ""
        self.shown = OutboundPart(text="")
        self.grows = False
        self.steps: list[Step] = []


class Previews(Showing):
    """The previews of one channel, which must be Editing.

    Each has a row in the journal before it is sent, and its receipt is stored before it is edited.
    So the answer finds it, also after a crash. Any refusal ends the previews of that run. Two
    refused edits in a row end those of the chat, because each preview would stay there.
    """

    def __init__(
        self, parts: ChannelParts, activity: Activity, clock: Clock, journal: Journal
    ) -> None:
        self._leases = parts.leases
        self._sender = parts.sender
        self._allowance = Allowance(parts.sender.rates, parts.channel.capabilities, clock)
        self._calls = Calls(parts)
        self._journal = journal
        self._rows = PreviewRows.over(journal)
        self._clock = clock
        self._activity = activity
        self._text_of = parts.text_of
        self._show_tools = parts.settings.show_tools
        self._previews: dict[str, _Preview] = {}
        self._resting = False
        self._refused_edits: dict[str, int] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._activity.any()
                await self._clock.sleep(_LOOK_SECONDS)
                due = self._clock.monotonic() - PREVIEW_AFTER
                for run in list(self._activity.runs.values()):
                    if self._calls.drafts(run.address) or self._stays(run.address):
                        continue  # shown as a draft, or will not become the answer
                    if run.reply_key and run.since <= due and run.reply_key not in self._previews:
                        preview = self._previews[run.reply_key] = _Preview()
                        tasks.create_task(self._used(run, preview), name=f"preview {run.run_id}")

    def _stays(self, address: Address) -> bool:
        """Whether a preview would stay next to the answer, because edits are refused."""
        refused = self._refused_edits.get(address.chat_id, 0) >= _REFUSED_EDITS
        return refused and not self._calls.streams(address)

    async def _edit(self, address: Address, message_id: str, part: OutboundPart) -> None:
        chat = address.chat_id
        try:
            await self._sender.replace(address, message_id, part)
        except FormRefused:
            raise
        except Refused:
            refused = self._refused_edits.pop(chat, 0) + 1
            self._refused_edits[chat] = refused
            if refused == _REFUSED_EDITS:
                logger.info("{}: no more previews, since they cannot be edited", address)
            while len(self._refused_edits) > _MOST_CHATS:
                del self._refused_edits[next(iter(self._refused_edits))]
            raise
        self._refused_edits.pop(chat, None)

    async def release(self, key: str) -> None:
        before_a_question = answer_of(key)
        preview = self._previews.get(key) or self._previews.get(before_a_question)
        if preview is not None:
            preview.over = True
            async with preview.busy:
                pass

    def holds(self, key: str) -> bool:
        """Whether the answer with that key has a preview, or may soon."""
        return key in self._previews

    async def rest(self) -> None:
        self._resting = True
        for preview in list(self._previews.values()):
            async with preview.busy:
                pass

    async def _used(self, run: RunInProgress, preview: _Preview) -> None:
        with self._leases.using(run.address.chat_id):
            await self._follow(run, preview)

    async def _follow(self, run: RunInProgress, preview: _Preview) -> None:
        """Show one run until it ends or the platform refuses."""
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
            while self._activity.runs.get(run.run_id) is run:  # refused: no more in this run
                await self._clock.sleep(LAST_INTERVAL)
        finally:
            del self._previews[run.reply_key]

    def shows(self, run: RunInProgress) -> bool:
        """Whether the chat shows the run in a growing message."""
        preview = self._previews.get(run.reply_key)
        return preview is not None and preview.grows and not preview.over and bool(preview.row)

    async def _refresh(self, run: RunInProgress, preview: _Preview) -> bool:
        """Show new text, unless answers need the rate. True: it was shown."""
        text = self._text_of(run.run_id)
        if text is None or preview.over or self._resting:
            return False
        preview.text = text or preview.text
        if preview.row is None:
            preview.grows = self._calls.streams(run.address)
        steps = self._steps(run, text)
        part = await self._part(run, preview)
        if preview.grows:
            unchanged = steps == preview.steps or not preview.text.strip()
        else:
            unchanged = (part.text, part.payload) == (preview.shown.text, preview.shown.payload)
        edit = preview.row is not None and preview.row.standing is not None and not preview.grows
        if unchanged or not self._allowance.free(run.address.chat_id, edit=edit):
            return False
        try:
            if not await self._may_show(run, preview):
                return False
            shown = await self._show(run, preview, part, steps)
            preview.over = shown is None
        except (DeliveryError, StoreError) as error:
            logger.info("{}: no more previews of run {}: {}", run.address, run.run_id, error)
            preview.over = True
        else:
            if not shown:
                return False
        preview.shown, preview.steps = part, steps
        return True

    async def _may_show(self, run: RunInProgress, preview: _Preview) -> bool:
        """Whether no earlier message is unsent, and this process may send to the chat."""
        if preview.row is None:
            taken = await self._leases.take(run.address)
            return taken.ours and taken.row is None
        preview.over = not self._leases.ours(run.address.chat_id)
        return not preview.over  # or another process may have sent the answer

    def _steps(self, run: RunInProgress, text: str) -> list[Step]:
        """The run's steps, with the model's current text at the end."""
        steps, text = list(run.steps), text.strip()
        recorded = steps[-1].text.strip() if steps else ""
        if text and not recorded.startswith(text):
            steps.append(Step(text=text))
        return steps

    async def _part(self, run: RunInProgress, preview: _Preview) -> OutboundPart:
        """The text to show, within one part; empty if there is none yet."""
        text = preview.text if preview.text.strip() else ""
        cursor = "" if preview.grows else f" {CURSOR}"
        lines = [f"{text}{cursor}"] if text else []
        if self._show_tools and run.tool and not preview.grows:
            lines = [*([text] if text else []), f"`{run.tool}`"]
        if not lines:
            return OutboundPart(text="")
        message = _message(run, "\n\n".join(lines))
        rendered = await self._sender.render(message)
        return msgspec.structs.replace(rendered[0], key=f"{message.key}{PREVIEW}")

    async def _show(
        self, run: RunInProgress, preview: _Preview, part: OutboundPart, steps: list[Step]
    ) -> bool | None:
        """Make the preview show that part. False: not now; None: this run cannot be shown."""
        row = preview.row
        if row is None:
            message = _message(run, preview.text)
            row = await self._rows.preview(run.run_id, message, part)
            if row is None:
                return None
        if row.standing is None:
            preview.row = await self._begun(run, preview, row, part, steps)
            return True
        began = preview.row is not None
        preview.row = row
        if preview.grows and began:
            return await self._grown(run, preview, row.standing, steps)
        preview.grows = False  # another process began it
        await self._edit(run.address, row.standing, part)
        return True

    async def _grown(
        self, run: RunInProgress, preview: _Preview, message_id: str, steps: list[Step]
    ) -> bool:
        """Show more in a growing message. False: not now, or it is edited from now on."""
        try:
            await self._calls.grow(run.address, message_id, steps)
        except Refused as refused:
            logger.info("{}: {} is edited from now on: {}", run.address, message_id, refused)
            preview.grows = False
            return False
        except NotSent as error:
            logger.debug("{}: {} grows later: {}", run.address, message_id, error)
            return False
        return True

    async def _begun(
        self,
        run: RunInProgress,
        preview: _Preview,
        row: OutboundRow,
        part: OutboundPart,
        steps: list[Step],
    ) -> OutboundRow:
        """Show the first version; its receipt is stored before anything else happens."""
        address = row.message.address
        try:
            receipt = await self._started(run, preview, part, steps)
            receipt = receipt or await self._sender.send(address, part)
        except OutcomeUnknown:
            raise
        except DeliveryError as error:
            await self._journal.defer(row, 0, 0.0, str(error))
            raise
        await self._journal.receipt(row, 0, receipt, begin=None)
        first = msgspec.structs.replace(row.parts[0], receipt=receipt)
        return msgspec.structs.replace(row, parts=(first,))

    async def _started(
        self, run: RunInProgress, preview: _Preview, part: OutboundPart, steps: list[Step]
    ) -> str:
        """The id of a new growing message, "" if none can be started."""
        if preview.grows:
            try:
                return await self._calls.start(run.address, part, steps, run.reply_to)
            except Refused as refused:
                logger.info("{}: edited instead of streamed: {}", run.address, refused)
        preview.grows = False
        return ""


def _message(run: RunInProgress, text: str) -> OutboundMessage:
    return OutboundMessage(address=run.address, text=text, key=run.reply_key, reply_to=run.reply_to)


def answer_of(set_aside: str) -> str:
    """The key of the whole answer, from one of `session.keys.answer` with an approval."""
    return set_aside.rpartition(":")[0]
