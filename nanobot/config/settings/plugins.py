"""Which plugins are off."""

from __future__ import annotations

from typing import Annotated

from nanobot.config.settings.base import Settings, about


class PluginsSettings(Settings, frozen=True, kw_only=True):
    """`[plugins]`: what is installed is on, unless it is named in `off`."""

    off: Annotated[tuple[str, ...], about("Plugins that are switched off, by name.")] = ()
