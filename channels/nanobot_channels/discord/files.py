"""Files on their way to Discord (https://discord.com/developers/docs/reference#uploading-files)."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.errors import Refused
from nanobot.messages import Attachment
from nanobot.ports import OutboundPart
from nanobot_channels.common.uploads import upload_name

FILE_LIMIT = 10 * 1024 * 1024
"""Bytes in a file (Discord, Uploading Files: 10 MiB unless the server is boosted)."""
MOST_FILES = 10
"""Attachments of one message."""
_TOGETHER = 25 * 1024 * 1024
"""Bytes in one request. Discord names no limit for all files of a message."""

Upload = tuple[str, bytes]


def together(files: Sequence[Attachment]) -> int:
    """How many of these files, from the first on, fit into one message. A recording is a separate
    voice message, and a file that is too large is sent alone, so that its refusal affects no other.
    """
    size = count = 0
    for file in files[:MOST_FILES]:
        size += file.size
        if file.kind == "voice" or file.size > FILE_LIMIT or size > _TOGETHER:
            break
        count += 1
    return max(count, 1)


def uploads(part: OutboundPart, contents: Sequence[bytes]) -> list[Upload]:
    """Names and contents of a part's files. Raises Refused."""
    first = part.file or Attachment(kind="document")
    files = (first, *part.others)
    if len(files) != len(contents) or len(files) > MOST_FILES:
        raise Refused("these files are not one message")
    found = [(upload_name(file), content) for file, content in zip(files, contents, strict=True)]
    for name, content in found:
        if len(content) > FILE_LIMIT:
            size = len(content) / 1024 / 1024
            raise Refused(
                f"{name} has {size:.1f} MB, and Discord takes at most 10 MB from a bot. "
                "Make it smaller, or divide it."
            )
    if len(found) > 1 and sum(len(content) for _, content in found) > _TOGETHER:
        raise Refused("together these files are too large")
    return found
