"""What the HTTP server asks of plugins, also before HTTP is loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import NOTHING, Things
from nanobot.text import Sentence


class EachAwaited(Protocol):
    """Calls a field of each enabled plugin, offering `more` in addition, and passes its result on.
    Functions that are asynchronous have this many seconds each."""

    def __call__(
        self,
        field: str,
        use: Callable[[FoundPlugin, Any], Any],
        seconds: float,
        more: Things = NOTHING,
    ) -> Awaitable[Sequence[Any]]: ...


class FromPlugins(msgspec.Struct, frozen=True, kw_only=True):
    """`each` calls plugins. `absent` says why a path is not served whose plugin is not on, ""
    for any other path.
    """

    each: EachAwaited
    absent: Callable[[str], Sentence]
