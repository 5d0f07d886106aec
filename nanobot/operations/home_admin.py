"""The home of one gateway, for the operations: views of it, and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.loader import Config, load
from nanobot.errors import UnknownId, UsageError
from nanobot.operations.home import ChangedSettings, LiveChanges, PluginView
from nanobot.supervision import to_its_end


class HomeAdmin:
    """Reads and changes the home of one gateway. Changes take effect at the next start, unless a
    method says otherwise. All methods raise NanobotError. `config`: returns the configuration that
    it works with now; `restart`: begins its end, None if it cannot start again; `changes`: applies
    what is written, None if it takes effect at the next start; `plugins`: those that are
    installed."""

    def __init__(
        self,
        config: Callable[[], Config],
        environ: Mapping[str, str],
        *,
        restart: Callable[[], None] | None,
        changes: LiveChanges | None = None,
        plugins: Callable[[], list[PluginView]] = list,
    ) -> None:
        self.config = config
        self._environ = environ
        self._restart = restart
        self._changes = changes
        self.plugins = plugins
        self.changing = asyncio.Lock()
        """Held while the configuration is changed."""

    async def change(self, values: Mapping[str, Any]) -> ChangedSettings:
        """Write keys; None removes a key, so that its default applies."""
        from nanobot.config import file  # noqa: PLC0415 - tomlkit, 40 ms, for changes only

        return await self.apply(list(values), partial(file.put, self._environ, values))

    async def apply(
        self, keys: Sequence[str], write: Callable[[Callable[[Config], None] | None], Path]
    ) -> ChangedSettings:
        """Call `write`, which writes these keys and returns the file, and apply what can be applied
        at once, if a plugin does that (LiveChanges). `write` gets the plugin's `check`; it runs in
        a thread."""
        changes = self._changes
        async with self.changing:
            check = None if changes is None else changes.check
            file = await to_its_end(partial(write, check))
            written = ChangedSettings(keys=list(keys), file=str(file), restart=list(keys))
            return written if changes is None else await changes.apply(written)

    def restart(self) -> None:
        """Drain, end, and start again with the current configuration."""
        if self._restart is None:
            raise UsageError("only a gateway can restart itself: exit, and start it again")
        load(self._environ)  # if it could not start again, it continues instead
        self._restart()

    async def switch_plugin(self, name: str, *, on: bool) -> PluginView:
        """Switch one on or off, from the next start on. Raises UnknownId."""
        named = {view.name: view for view in self.plugins()}
        if name not in named:
            raise UnknownId(f"There is no plugin {name[:60]!r}: nanobot plugins list")
        file = await asyncio.to_thread(load, self._environ)
        before = {*file.plugins.off}
        off = before - {name} if on else before | {name}
        if off != before:
            await self.change({"plugins.off": sorted(off) or None})
        return msgspec.structs.replace(named[name], state="on" if on else "off", why="")
