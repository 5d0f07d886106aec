"""Plugins as packages bring them: a module and the record of its installation, in a folder that
Python finds."""

from __future__ import annotations

import importlib
from pathlib import Path
from textwrap import dedent

import pytest


class Site:
    """A folder of installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def bring(self, name: str, code: str, *, group: str = "nanobot.plugins") -> None:
        """Install a package whose module is this code; its entry point is `PLUGIN`, or what stands
        for it there."""
        self._count += 1
        module = f"brought_{name}_{abs(hash(str(self.folder))):x}_{self._count}"
        (self.folder / f"{module}.py").write_text(dedent(code))
        info = self.folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: package-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:PLUGIN\n")
        importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return Site(folder)
