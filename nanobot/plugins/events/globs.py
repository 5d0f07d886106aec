"""Which files of a watched folder are meant."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.errors import ConfigError, ToolError
from nanobot.workspace.globs import Glob


class Globs:
    """Globs of `include` and `ignore` (workspace.globs), for paths below the watched folder. What
    is ignored takes along all that is in it. Raises ConfigError for what is no glob."""

    def __init__(self, include: Sequence[str], ignore: Sequence[str]) -> None:
        try:
            self._include = [Glob(pattern) for pattern in include]
            self._ignore = [Glob(pattern) for pattern in ignore]
        except ToolError as error:
            raise ConfigError(f"events.files, include or ignore: {error}") from None

    def fit(self, path: str) -> bool:
        """Whether a path below the folder is meant."""
        if not any(glob.matches(path) for glob in self._include):
            return False
        names = path.split("/")
        above = ["/".join(names[: end + 1]) for end in range(len(names))]
        return not any(glob.matches(place) for glob in self._ignore for place in above)
