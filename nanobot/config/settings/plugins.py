"""Which plugins are off."""

from __future__ import annotations

from typing import Annotated

from nanobot.config.settings.base import Settings, about


class PluginsSettings(Settings, frozen=True, kw_only=True):
    """`[plugins]`: every installed plugin is on, unless `off` names it."""

    off: Annotated[tuple[str, ...], about("Plugins that are switched off, by name.")] = ()
