"""Files of this machine that its owner or a program names: stored like received ones, and known by
their labels."""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import aiofiles

from nanobot.errors import UsageError
from nanobot.messages import Attachment
from nanobot.workspace.images import MAX_BYTES, look, too_large
from nanobot.workspace.received import Received

MAX_GIVEN = 20_000_000
"""Maximum bytes of one file that a program sends with a message."""
_MAX_COMPARED = 16 * 1024 * 1024


async def given(received: Received, file: str | Path | bytes, at: float) -> Attachment:
    """A file that a program sends, as a path or as content, stored like one received from a
    chat. Raises UsageError that names the file and the remedy.
    """
    if isinstance(file, bytes):
        name, content = "", file
    else:
        name, path = PurePosixPath(file).name, str(file)
        content = await _beginning_of(path, MAX_GIVEN + 1)
    label = name or f"a file of {len(content):,} bytes"
    if not 0 < len(content) <= MAX_GIVEN:
        raise UsageError(f"{label}: a file has 1 byte to {MAX_GIVEN // 1_000_000} MB")
    mime = mimetypes.guess_type(name)[0] or ""
    kind = mime.partition("/")[0]
    sent = Attachment(kind if kind in ("audio", "video") else "document", name=name, mime=mime)
    kept = await received.keep(sent, content, at)
    if not kept.path:
        raise UsageError(f"{label}: {kept.error}")
    return kept


async def image(received: Received, path: str, at: float) -> Attachment:
    """An image on this machine, by its absolute path, stored like a received one.

    Raises UsageError that names the file and the remedy.
    """
    if not path.startswith("/"):
        raise UsageError("which picture? Write /image PATH, and what you want to say of it")
    content = await _beginning_of(path, 4 * MAX_BYTES)
    image = look(content)
    if image is None:
        raise UsageError(
            f"{path} is not a picture that models take (JPEG, PNG, GIF or WebP); "
            "copy any other file into the workspace and name it there"
        )
    if why := too_large(image, len(content)):
        raise UsageError(f"{path} is too large: {why}; send a smaller copy")
    return await received.keep(Attachment("image", name=PurePosixPath(path).name), content, at)


async def is_outside(received: Received, paths: Iterable[str]) -> bool:
    """Whether one of the files at these absolute paths is known to contain untrusted content,
    by its path or its content. Without labels, every file counts as one.
    """
    files = received.files
    for path in paths:
        try:
            content = await _beginning_of(path, _MAX_COMPARED)
        except UsageError:
            continue
        place = Path(path).resolve()  # noqa: ASYNC240 - a look at a few links
        if files is None or await files.is_outside(place, content):
            return True
    return False


async def _beginning_of(path: str, limit: int) -> bytes:
    """The beginning of a file."""
    try:
        async with aiofiles.open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path} is not a file: name one")
            return await file.read(limit)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be read ({why}); check the name") from error


def _without_waiting(path: str, flags: int) -> int:
    """Open without blocking, in case it is a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)
