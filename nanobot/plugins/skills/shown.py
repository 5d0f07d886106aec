"""The skills as prompts show them, which costs a prompt the same with any number of skills."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from nanobot.plugins.skills.skills import Skill, Skills

LOOK_SECONDS = 1.0
"""Time between two looks at the folders: so old may a change be that a prompt does not show."""
_SETTLED = 2_000_000_000
"""Nanoseconds. A file that changed this recently may change again within one tick of its clock."""

_Stamp = tuple[int, ...]


class PromptSkills:
    """Looks at the pages at most once every LOOK_SECONDS, and at once where a skill was added or
    removed; reads only those that have changed. What `shown` returns is the same object until
    something has changed."""

    def __init__(self, skills: Skills, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._skills = skills
        self._monotonic = monotonic
        self._until = 0.0
        self._changes = -1
        self._roots: tuple[int, ...] = ()
        self._pages: dict[str, tuple[_Stamp, Skill]] = {}
        self._shown: tuple[Skill, ...] = ()

    def shown(self) -> tuple[Skill, ...]:
        """The skills that the model may see, without the names of their other files."""
        roots = tuple(_changed_at(root) for _, root in self._skills.roots())
        same = (roots, self._skills.changes) == (self._roots, self._changes)
        if same and self._monotonic() < self._until:
            return self._shown
        self._roots, self._changes = roots, self._skills.changes
        shown = tuple(self._look())
        if shown != self._shown:
            self._shown = shown
        self._until = self._monotonic() + LOOK_SECONDS
        return self._shown

    def _look(self) -> list[Skill]:
        pages: dict[str, tuple[_Stamp, Skill]] = {}
        by_name: dict[str, Skill] = {}
        for source, root in self._skills.roots():
            for name, path, stamp in _stamps(root):
                kept = self._pages.get(path)
                if kept is None or not stamp or kept[0] != stamp:
                    kept = (stamp, self._skills.page(Path(path), source))
                pages[path] = kept
                by_name[name] = kept[1]
        self._pages = pages
        here = self._skills.checked(by_name[name] for name in sorted(by_name))
        return [skill for skill in here if not skill.disabled]


def _changed_at(root: Path) -> int:
    """When the list of folders changed, in nanoseconds; 0 where there is none."""
    try:
        return root.stat().st_mtime_ns
    except OSError:
        return 0


def _stamps(root: Path) -> list[tuple[str, str, _Stamp]]:
    """The folders of skills, by name and path, each with what changes when its page does; () for
    one that has just changed."""
    found: list[tuple[str, str, _Stamp]] = []
    recent = time.time_ns() - _SETTLED
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                try:
                    page = os.lstat(f"{entry.path}/SKILL.md")
                except OSError:  # no skill
                    continue
                stamp: _Stamp = ()
                if page.st_ctime_ns < recent:
                    link = (page.st_ino, page.st_mode, entry.is_symlink())
                    stamp = (*link, page.st_size, page.st_mtime_ns, page.st_ctime_ns)
                found.append((entry.name, entry.path, stamp))
    except OSError:
        return []
    return found
