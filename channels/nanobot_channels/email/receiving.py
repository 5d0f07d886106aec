"""Admits a folder's new mails to one intake, in the order of their UIDs."""

from __future__ import annotations

import asyncio
import re
import time

import msgspec
from loguru import logger

from nanobot.ports import Intake
from nanobot_channels.common.recent import Recent
from nanobot_channels.email.headers import ODD, ambiguity, headers_of
from nanobot_channels.email.imap import PIECE, Folder, Mailbox
from nanobot_channels.email.mime import Mail, MailScanner
from nanobot_channels.email.reading import (
    Bounce,
    Ignored,
    MailThread,
    Reader,
    ReadMail,
    message_id_of,
    thread_of,
)
from nanobot_channels.email.settings import Server

_CURSOR = re.compile(r"(\d+):(\d+):(\d+)")
_REMEMBERED = 1_000
_STORED_EVERY = 50
"""The position is stored after this many ignored mails."""
_DAY = 86_400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class FolderPosition(msgspec.Struct, frozen=True):
    """The position in a folder: everything up to this UID, whose mail came at that time, has been
    read.
    """

    validity: int
    uid: int
    at: int

    def __str__(self) -> str:
        return f"{self.validity}:{self.uid}:{self.at}"

    @classmethod
    def of(cls, cursor: str | None) -> FolderPosition | None:
        """The stored position; None if the text is not a cursor."""
        match = _CURSOR.fullmatch(cursor or "")
        return cls(*map(int, match.groups())) if match else None


class MailThreads:
    """Data of received mails for answers, and the addresses that fail. All of it can be recovered,
    from the folder or by failing again.
    """

    def __init__(self) -> None:
        self._threads: Recent[str, MailThread] = Recent(_REMEMBERED)
        self.failing: dict[str, str] = {}

    def keep(self, message_id: str, thread: MailThread) -> None:
        """Remember a mail's thread."""
        self._threads[message_id] = thread

    def get(self, message_id: str) -> MailThread | None:
        """The data for an answer to that mail, if it is remembered."""
        return self._threads.get(message_id)

    def failed(self, bounce: Bounce) -> None:
        """Record that mails to the address fail, if the bounce is final."""
        if bounce.final:
            if len(self.failing) >= _REMEMBERED:
                self.failing.clear()
            self.failing[bounce.recipient] = bounce.why


async def scanned(box: Mailbox, uid: int) -> Mail | None:
    """A mail, read in pieces; None if it no longer exists."""
    skim, start = MailScanner(), 0
    while True:
        piece = await box.piece(uid, start)
        if piece is None:
            return None
        skim.feed(piece)
        start += len(piece)
        if len(piece) < PIECE:
            return skim.mail()


async def looked_up(box: Mailbox, message_id: str) -> tuple[str, MailThread] | None:
    """The mail with that id or, if it never arrived here, the last one that refers to it: its own
    id, and its thread.
    """
    uid = await box.with_id(message_id)
    if uid is None:
        uid = await box.with_id(message_id, "References")
    head = await box.piece(uid, 0, what="HEADER") if uid is not None else None
    if not head or ambiguity(head):
        return None
    headers = headers_of(head)
    return message_id_of(headers) or message_id, thread_of(headers)


class Receiver:
    """One folder. `idle_seconds`: how long the server may be silent before it is polled."""

    def __init__(
        self,
        server: Server,
        folder: str,
        reader: Reader,
        intake: Intake,
        correspondence: MailThreads,
        idle_seconds: float,
    ) -> None:
        self._server = server
        self._folder = folder
        self._reader = reader
        self._intake = intake
        self._correspondence = correspondence
        self._idle_seconds = idle_seconds
        self._skipped = 0

    async def run(self) -> None:
        """Receive until cancelled. A mail is marked as read after its commit.

        Raises BadCredentials, ChannelDown, and what the intake raises: then the mail was not
        accepted, and is delivered again.
        """
        async with Mailbox.opened(self._server) as box:
            folder = await box.open(self._folder)
            place = await self._begin(box, folder)
            self._intake.alive()
            while True:
                place = await self._catch_up(box, place)
                await box.news(self._idle_seconds)
                self._intake.alive()

    async def _begin(self, box: Mailbox, folder: Folder) -> FolderPosition:
        """Where to continue. Mails that are in the folder at the very first start are not
        for us.
        """
        await self._intake.account(f"{self._server.user}@{self._server.host}/{self._folder}")
        cursor = await self._intake.cursor()
        place = FolderPosition.of(cursor)
        if cursor is not None and place is None:
            logger.warning("{}: stored cursor {!r} is not a place in a folder", self._name, cursor)
        if place is None:
            # One second after the last existing mail, by the server's clock.
            uids = await box.search("1:*", by_uid=True)
            last = await box.arrived(uids[-1]) if uids else None
            after = 0 if last is None else int(last) + 1
            return await self._reached(FolderPosition(folder.validity, folder.next_uid - 1, after))
        if place.validity == folder.validity:
            return place
        return await self._renumbered(box, folder, place)

    async def _renumbered(
        self, box: Mailbox, folder: Folder, place: FolderPosition
    ) -> FolderPosition:
        """The server has renumbered its mails: those since the last known one are read again, and
        duplicates are recognised by their Message-ID.
        """
        logger.warning("{}: the server renumbered the folder {}", self._name, self._folder)
        day = time.gmtime(max(place.at - _DAY, 0))
        since = f"{day.tm_mday}-{_MONTHS[day.tm_mon - 1]}-{day.tm_year}"
        before = folder.next_uid - 1
        for uid in await box.search("SINCE", since):
            arrived = await box.arrived(uid)
            if arrived is not None and arrived >= place.at:
                before = min(before, uid - 1)
                break
        return await self._reached(FolderPosition(folder.validity, before, place.at))

    async def _reached(self, place: FolderPosition) -> FolderPosition:
        await self._intake.admit([], str(place))
        return place

    @property
    def _name(self) -> str:
        return self._server.name

    async def _catch_up(self, box: Mailbox, place: FolderPosition) -> FolderPosition:
        """Everything after the position. A subscriber of mailing lists may return to thousands of
        ignored mails: each of them shows progress, and the position moves past them.
        """
        stored = place
        ignored = 0
        # The range's end is the last existing mail, so that one is always included.
        for uid in await box.search(f"{place.uid + 1}:*", by_uid=True):
            if uid <= place.uid:
                continue
            place, admitted = await self._take(box, place, uid)
            self._intake.alive()
            ignored = 0 if admitted else ignored + 1
            if admitted:
                stored = place
            elif ignored % _STORED_EVERY == 0:
                stored = await self._reached(place)
        return place if stored == place else await self._reached(place)

    async def _take(
        self, box: Mailbox, place: FolderPosition, uid: int
    ) -> tuple[FolderPosition, bool]:
        """Admit one mail; returns whether it became a message."""
        arrived = await box.arrived(uid)
        mail = await scanned(box, uid) if arrived is not None else None
        if mail is None or arrived is None:
            return msgspec.structs.replace(place, uid=uid), False
        place = FolderPosition(place.validity, uid, max(place.at, int(arrived)))
        # A megabyte of markup takes seconds to parse.
        result = await asyncio.to_thread(self._read, mail, f"{place.validity}:{uid}", arrived)
        if isinstance(result, ReadMail):
            message = result.message
            self._correspondence.keep(message.message_id, result.thread)
            self._correspondence.failing.pop(message.address.chat_id, None)
            await self._intake.admit([message], str(place))
            await box.mark_read(uid)
            return place, True
        if isinstance(result, Bounce):
            logger.error("{}: a mail to {} bounced: {}", self._name, result.recipient, result.why)
            self._correspondence.failed(result)
        else:
            level = "WARNING" if result.warn else "INFO"
            logger.log(level, "{}: a mail is not read: {}", self._name, result.why)
        return place, False

    def _read(self, mail: Mail, place: str, arrived: float) -> ReadMail | Bounce | Ignored:
        try:
            return self._reader.read(mail, place, arrived)
        except ODD as error:
            self._skipped += 1
            return Ignored(f"skipped, {self._skipped} so far ({error!r})", warn=True)


def place_of(ref: str) -> tuple[int, int, int, int, str]:
    """The contents of a file's reference: UIDVALIDITY, UID, start, end and encoding. Raises
    ValueError for an invalid one.
    """
    *numbers, encoding = ref.split(":")
    validity, uid, start, end = map(int, numbers)
    return validity, uid, start, end, encoding
