"""The home: for its owner alone, and out of reach of the workspace."""

from __future__ import annotations

from loguru import logger

from nanobot.config.loader import Config
from nanobot.errors import ConfigError, StoreUnwritable

_OTHERS = 0o077


def prepare_home(config: Config) -> None:
    """Make the home if it is not there, and close it to all other users of the machine: whoever
    makes what lies in it, nobody else gets there. Raises ConfigError for a workspace that holds the
    home, StoreUnwritable for a home that cannot be made."""
    home = config.home
    if home.resolve().is_relative_to(config.workspace.resolve()):
        raise ConfigError(
            f"workspace is {config.workspace}, which holds nanobot's home {home} with its keys and "
            "conversations: name a folder beside or below the home"
        )
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (mode := home.stat().st_mode) & _OTHERS:
            home.chmod(mode & 0o7700)
            logger.info("{} was open to other users of this machine; it is not any more", home)
    except OSError as error:
        raise StoreUnwritable(f"{home} cannot be made and kept private: {error}") from error
