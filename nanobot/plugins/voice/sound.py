"""Stores spoken answers."""

from __future__ import annotations

import msgspec

from nanobot.messages import Attachment
from nanobot.workspace.received import Received

SPOKEN_FOLDER = "spoken"


async def keep_sound(
    received: Received, content: bytes, at: float, *, in_workspace: bool
) -> Attachment:
    """Store an audio file; it is a voice message if it is Opus in Ogg. It is also put into the
    workspace, for recipients that are only given its path. Raises StoreUnwritable or ToolError.
    """
    kind, mime, suffix = _sound(content)
    digest, size = await received.blobs.write(content), len(content)
    sound = Attachment(kind, name=f"answer{suffix}", mime=mime, size=size, blob=digest)
    if not in_workspace or received.files is None:
        return sound
    path = await received.files.put(SPOKEN_FOLDER, sound, content, at)
    return msgspec.structs.replace(sound, path=path)


def _sound(content: bytes) -> tuple[str, str, str]:
    """Kind, MIME type and suffix of an audio file."""
    if content.startswith(b"OggS"):
        return ("voice" if b"OpusHead" in content[:128] else "audio"), "audio/ogg", ".ogg"
    if content.startswith(b"RIFF"):
        return "audio", "audio/wav", ".wav"
    if content.startswith(b"fLaC"):
        return "audio", "audio/flac", ".flac"
    return "audio", "audio/mpeg", ".mp3"
