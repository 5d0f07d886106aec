"""Parses the JSON of a streamed body: of each server-sent event, or of the whole document."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from nanobot.errors import ModelProtocolError
from nanobot.providers.event_lines import LineReader

_EXCERPT = 200


class JsonEvents:
    """Parses a body in whatever pieces it arrives. Raises ModelProtocolError for invalid JSON."""

    def __init__(self) -> None:
        self._plain: bool | None = None
        self._document: list[bytes] = []
        self._lines = LineReader()
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Any]:
        """The events that are complete now."""
        if self._plain is None:
            data = data.lstrip(b"\xef\xbb\xbf \r\n\t")
            if not data:
                return []
            self._plain = data[:1] in b"{[<"
        if self._plain:
            self._document.append(data)
            return []
        return [event for line in self._lines.feed(data) for event in self._line(line)]

    def end(self) -> list[Any]:
        """The remaining events at the end of the body. An incomplete event is left out."""
        if self._plain:
            return [_read(b"".join(self._document).strip())]
        try:
            return [*self._line(self._lines.rest()), *self._line(b"")]
        except ModelProtocolError:
            return []

    def _line(self, line: bytes) -> list[Any]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            return [_read(data)] if data and data != b"[DONE]" else []
        return []


def _read(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):  # half an emoji, NaN, line ends in text
        pass
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        excerpt = data[:_EXCERPT].decode("utf-8", "replace")
        raise ModelProtocolError(f"no JSON: {excerpt}") from None
