"""Questions that were decided: their messages say so, and have no buttons any more."""

from __future__ import annotations

import asyncio

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.sender import PartSender
from nanobot.errors import DeliveryError, StoreError
from nanobot.session.approvals import Approval
from nanobot.session.journal import Journal
from nanobot.session.outbox import OutboundRow


class Questions:
    """The questions of one channel, which must be Editing. A platform that refuses to change a
    message loses nothing but this: whoever presses a button then is told what was decided."""

    def __init__(self, name: str, sender: PartSender, journal: Journal) -> None:
        self._name = name
        self._sender = sender
        self._journal = journal
        self._decided: asyncio.Queue[Approval] = asyncio.Queue()

    def decided(self, approval: Approval) -> None:
        """Somebody has answered it."""
        self._decided.put_nowait(approval)

    async def run(self) -> None:
        """Change the messages of what is decided, until cancelled."""
        while True:
            approval = await self._decided.get()
            with boundary(f"the question #{approval.id} on {self._name}"):
                try:
                    for row in await self._journal.questions(approval.id):
                        if row.message.address.channel == self._name:
                            await self._close(row, approval)
                except (DeliveryError, StoreError) as error:
                    logger.info("#{} still has its buttons: {}", approval.id, error)

    async def _close(self, row: OutboundRow, approval: Approval) -> None:
        text = f"{row.message.text}\n\n{_word(approval)}"
        parts = await self._sender.render(
            msgspec.structs.replace(row.message, text=text, choices=())
        )
        last = row.parts[-1].receipt if row.parts else None  # which has the buttons
        if last is not None and len(parts) == len(row.parts):
            await self._sender.replace(row.message.address, last, parts[-1])


def _word(approval: Approval) -> str:
    """What was decided, and by whom."""
    said = f": {approval.answer}" if approval.question and approval.answer else ""
    return f"{approval.state.capitalize()} by {approval.decided_by}{said}"
