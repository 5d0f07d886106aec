"""Which files of a folder are meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate


class Globs:
    """Globs of `include` and `ignore`. One without a slash is about names: an included one about
    the file's own, an ignored one about every folder's above it, too. One with a slash is about the
    whole path below the watched folder; its `*` crosses folders."""

    def __init__(self, include: Sequence[str], ignore: Sequence[str]) -> None:
        self._names = _any(glob for glob in include if "/" not in glob)
        self._paths = _any(glob for glob in include if "/" in glob)
        self._not_names = _any(glob for glob in ignore if "/" not in glob)
        self._not_paths = _any(glob for glob in ignore if "/" in glob)

    def fit(self, path: str) -> bool:
        """Whether a path below the folder is meant."""
        parts = path.split("/")
        if any(map(self._not_names.match, parts)) or self._not_paths.match(path):
            return False
        return bool(self._names.match(parts[-1]) or self._paths.match(path))


def _any(globs: Iterable[str]) -> re.Pattern[str]:
    chosen = [translate(glob.strip("/")) for glob in globs]
    return re.compile("|".join(chosen) if chosen else r"(?!)")
