"""The configuration of one gateway's home, as operations change it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nanobot.operations.home import ChangedSettings, LiveChanges

if TYPE_CHECKING:  # loads more than --help needs
    from pathlib import Path

    from nanobot.config.loader import Config


class HomeSettings:
    """Reads and writes it. Changes take effect at the next start, or at once if `live` finds what a
    plugin offers for that. All methods raise NanobotError."""

    def __init__(self, environ: Mapping[str, str], live: Callable[[], LiveChanges | None]) -> None:
        self._environ = environ
        self._live = live
        self.changing = asyncio.Lock()
        """Held while the configuration is changed."""

    def read(self) -> Config:
        """What is written now, which applies from the next start on."""
        from nanobot.config.loader import load  # noqa: PLC0415 - see above

        return load(self._environ)

    async def change(self, values: Mapping[str, Any]) -> ChangedSettings:
        """Write keys; None removes a key, so that its default applies."""
        from nanobot.plugins.common.keys import config_file  # noqa: PLC0415 - tomlkit, 40 ms

        return await self.apply(list(values), partial(config_file.put, self._environ, values))

    async def apply(
        self, keys: Sequence[str], write: Callable[[Callable[[Config], None] | None], Path]
    ) -> ChangedSettings:
        """Call `write`, which writes these keys and returns the file, and apply what can be applied
        at once. `write` gets the `check` of LiveChanges; it runs in a thread."""
        from nanobot.supervision import to_its_end  # noqa: PLC0415 - the log

        live = self._live()
        async with self.changing:
            file = await to_its_end(partial(write, None if live is None else live.check))
            written = ChangedSettings(keys=list(keys), file=str(file), restart=list(keys))
            return written if live is None else await live.apply(written)
