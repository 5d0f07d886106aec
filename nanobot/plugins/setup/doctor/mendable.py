"""Problems that can be repaired at once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.operations.home import Finding


class Mendable(msgspec.Struct, frozen=True):
    """A finding that goes away when `mend` is called."""

    finding: Finding
    mend: Callable[[], None]
