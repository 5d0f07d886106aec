"""The home's permissions: only its owner has access, and the workspace cannot contain it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from loguru import logger

from nanobot.config.loader import Config
from nanobot.errors import ConfigError, StoreUnwritable

_OTHERS = 0o077


def prepare_home(config: Config) -> None:
    """Create the home if needed, and close it to all other users of the machine, so that they
    cannot reach any file in it. If it was open, files below may be open too and are closed as well.
    Raises ConfigError for a workspace that contains the home, StoreUnwritable for a home that
    cannot be created."""
    home = config.home
    if home.resolve().is_relative_to(config.workspace.resolve()):
        raise ConfigError(
            f"workspace is {config.workspace}, which holds nanobot's home {home} with its keys "
            f"and conversations: name a folder next to the home or below it"
        )
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(map(_is_open, (home, *home.iterdir()))):
            paths = open_to_others(home, config.workspace)
            close_to_others(paths)
            logger.info("{} was open to other users of this machine; it is not any more", home)
    except OSError as error:
        raise StoreUnwritable(f"{home} cannot be made and kept private: {error}") from error


def open_to_others(home: Path, workspace: Path) -> list[Path]:
    """Files and folders of a home that other users may read, write or enter by their mode, the home
    first. Of a workspace within it only the folder counts, because it protects the rest."""
    paths = [home] if _is_open(home) else []
    for folder, names, files in os.walk(home):
        entries = [Path(folder, name) for name in (*names, *files)]
        paths += filter(_is_open, entries)
        names[:] = [name for name in names if Path(folder, name) != workspace]
    return paths


def close_to_others(paths: Iterable[Path]) -> None:
    """Remove the permissions of others; missing paths are skipped. Raises OSError."""
    for path in paths:
        with suppress(FileNotFoundError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def _is_open(path: Path) -> bool:
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        return bool(mode & _OTHERS) and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False
