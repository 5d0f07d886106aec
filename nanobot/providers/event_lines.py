"""Splits a server-sent event stream into lines, in whatever pieces the bytes arrive.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

_LINE_ENDS = (b"\n", b"\r")


class LineReader:
    """Lines end with LF, CR or both. The cost is linear in the length of a line."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their line ends."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        lines = data.splitlines()
        ended = data.endswith(_LINE_ENDS)
        if self._begun and (ended or len(lines) > 1):
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun.clear()
        if not ended:
            self._begun.append(lines.pop())
        return lines

    def rest(self) -> bytes:
        """The text after the last line end, to be called at the end of the stream."""
        return b"".join(self._begun)
