"""The folders in which plugins keep translations of their texts.

A plugin is known to the seam, and its texts are translated by `nanobot.texts`, which most commands
never load: this module is what both know.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_folders: dict[str, Path] = {}


def use(of_plugins: Mapping[str, Path]) -> None:
    """From now on, translations of these plugins' texts are in `LANGUAGE.toml` of their folders."""
    _folders.clear()
    _folders.update(of_plugins)


def folders() -> tuple[tuple[str, Path], ...]:
    """The plugins with translations and their folders, in the order in which they take part."""
    return tuple(_folders.items())
