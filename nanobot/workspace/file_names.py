"""What the names of files say: content from outside may stand in them as well."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath

MOST_WORDS = 5
"""Names from outside that say no more than so many words, taken together, ask for nothing."""

INSTALLED = frozenset({"node_modules", ".venv", "venv", "site-packages", "__pycache__", "target"})
"""Folders of programs that were installed: code, which runs and is not read."""

REPOSITORY = ".git"
_REFS = "refs"
_WORD = re.compile(r"[^\W\d_]+")
_WORD_LETTERS = 8


def words_of(name: str) -> float:
    """How much a name says, in words; what is written without spaces counts by its letters."""
    total = 0.0
    for word in _WORD.findall(PurePath(name).stem):
        if word.isascii():
            total += math.ceil(len(word) / _WORD_LETTERS) if len(word) > 1 else 0
        else:
            total += max(1.0, len(word) / 2)
    return total


def say_much(names: Iterable[str], text: str) -> bool:
    """Whether those of the names that stand in a text say more than MOST_WORDS."""
    total = 0.0
    for name in names:
        if name in text:
            total += words_of(name)
            if total > MOST_WORDS:
                return True
    return False


def changed_names(top: Path, since: float) -> Iterator[str]:
    """The names (and what links lead to) below a folder that may be new since then: of what
    changed in folders whose entries did. Of repositories those of branches and tags."""
    folders = [top]
    while folders:
        folder = folders.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            here = folder.stat().st_ctime >= since
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if here and status.st_ctime >= since and words_of(entry.name):
                        yield entry.name
                    if here and entry.is_symlink() and status.st_ctime >= since:
                        yield str(Path(entry.path).readlink())
                    if not entry.is_dir(follow_symlinks=False) or entry.name in INSTALLED:
                        continue
                    inner = Path(entry.path)
                    folders.append(inner / _REFS if entry.name == REPOSITORY else inner)
