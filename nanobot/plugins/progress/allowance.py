"""What edited previews leave to answers, of the messages and edits that a platform takes."""

from __future__ import annotations

from collections import deque

from nanobot.channels.rate_limit import RateLimiter
from nanobot.ports import Capabilities, Clock, Rate

LEFT_TO_ANSWERS = 3
"""Reserved for answers, of the messages and edits that a chat takes at once."""


class Allowance:
    """Edits of one channel's previews: if a chat takes several messages per period, previews leave
    the last three of them, and half of the edits that all processes of the bot may make."""

    def __init__(self, rates: RateLimiter, can: Capabilities, clock: Clock) -> None:
        self._rates = rates
        self._clock = clock
        self._edit_rate = can.edit_rate
        self._edits: deque[float] = deque()
        chat = can.chat_rate
        self._shared = chat if chat is not None and chat.count > 1 else None
        self._recent: dict[str, deque[float]] = {}
        rates.counts.append(self._count)

    def free(self, chat: str, *, edit: bool) -> bool:
        """Whether a preview may be sent there now, or a message edited into one."""
        if not self._rates.free(chat):
            return False
        now = self._clock.monotonic()
        if edit and self._shared is not None and self._crowded(chat, now, self._shared):
            return False
        return (
            not edit
            or self._edit_rate is None
            or (self._edited(now) < self._edit_rate.count / 2 / self._rates.senders)
        )

    def _count(self, chat: str, edit: bool) -> None:  # noqa: FBT001 - called by the rate limiter
        """Count a send to this chat, and forget chats without a recent one."""
        now = self._clock.monotonic()
        if edit and self._edit_rate is not None:
            self._edits.append(now)
        if self._shared is None:
            return
        since = now - self._shared.seconds
        for name in [name for name, times in self._recent.items() if times[-1] <= since]:
            del self._recent[name]
        self._recent.setdefault(chat, deque(maxlen=self._shared.count)).append(now)

    def _crowded(self, chat: str, now: float, rate: Rate) -> bool:
        recent = sum(moment > now - rate.seconds for moment in self._recent.get(chat, ()))
        return recent >= max(rate.count - LEFT_TO_ANSWERS, 1)

    def _edited(self, now: float) -> int:
        """Edits within the last period of their rate."""
        since = now - (0.0 if self._edit_rate is None else self._edit_rate.seconds)
        while self._edits and self._edits[0] <= since:
            self._edits.popleft()
        return len(self._edits)
