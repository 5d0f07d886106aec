"""Selects files of a watched folder."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.errors import ConfigError, ToolError
from nanobot.plugins.common.globs import Glob


class Globs:
    """The globs of `include` and `ignore` (workspace.globs), for paths under the watched folder.
    Ignoring a folder ignores everything in it. Raises ConfigError for an invalid glob.
    """

    def __init__(self, include: Sequence[str], ignore: Sequence[str]) -> None:
        try:
            self._include = [Glob(pattern) for pattern in include]
            self._ignore = [Glob(pattern) for pattern in ignore]
        except ToolError as error:
            raise ConfigError(f"events.files, include or ignore: {error}") from None

    def fit(self, path: str) -> bool:
        """Whether a path under the folder is selected."""
        if not any(glob.matches(path) for glob in self._include):
            return False
        names = path.split("/")
        above = ["/".join(names[: end + 1]) for end in range(len(names))]
        return not any(glob.matches(place) for glob in self._ignore for place in above)
