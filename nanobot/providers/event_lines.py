"""The lines of a server-sent event stream, from bytes however they are cut.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

_LINE_ENDS = (b"\n", b"\r")


class LineReader:
    """Lines end with LF, CR or both. The cost is linear, however long a line is."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their ends."""
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
        """What came after the last line end; only once nothing more comes."""
        return b"".join(self._begun)
