"""The numbers of the messages on a platform in memory."""

from __future__ import annotations


class MessageNumbers:
    """The numbers of a platform's messages: a real platform gives none twice, also after a bot was
    started again.
    """

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last
