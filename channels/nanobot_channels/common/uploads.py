"""The names and media types of files that are sent: no request may break on them."""

from __future__ import annotations

import re

from nanobot.messages import Attachment
from nanobot_channels.common.text import file_name

_MIME = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+_-]{1,100}")
ANY = "application/octet-stream"


def upload_name(file: Attachment) -> str:
    """The name that people see: one path component without control characters."""
    return file_name(file.name) or "file"


def upload_mime(file: Attachment) -> str:
    """Its media type without parameters; for an impossible one, that of any bytes."""
    mime = file.mime.partition(";")[0].strip().lower()
    return mime if _MIME.fullmatch(mime) else ANY
