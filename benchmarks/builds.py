"""Two versions of nanobot, each installed as `make start` installs it, to be measured by turns."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.stage import ROOT, BenchmarkError, Subject

BUILDS = ROOT / ".bench"
INSTALL_SECONDS = 900.0


def built(revision: str, say: Callable[[str], None]) -> Mapping[Subject, Path]:
    """The Python of each version's environment: of the files here, and of `revision`.

    What was built before is used again: an environment is renewed when its locks change. Raises
    BenchmarkError if there is no such revision, or if it cannot be installed.
    """
    commit = _commit(revision)
    folder = BUILDS / commit[:12]
    say(f"installing {revision} ({commit[:12]}) and the present version in {BUILDS} ...")
    if not (folder / "pyproject.toml").exists():
        _extract(commit, folder)
    return {
        Subject.NANOBOT: _installed(ROOT, BUILDS / "present"),
        Subject.EARLIER: _installed(folder, folder / ".venv"),
    }


def _commit(revision: str) -> str:
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options"]
    found = subprocess.run(
        [*command, f"{revision}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise BenchmarkError(f"git knows no revision {revision!r} here; `git log` lists them")
    return found.stdout.strip()


def _extract(commit: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)


def _installed(source: Path, environment: Path) -> Path:
    """The Python of the environment; `make` renews what is out of date."""
    stamp = environment / ".installed-run"
    done = subprocess.run(
        ["make", f"VENV={environment}", str(stamp)],
        cwd=source,
        env=_without_links(),
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{source} cannot be installed: {done.stderr.strip()[-600:]}")
    return environment / "bin" / "python"


def _without_links() -> dict[str, str]:
    """The environment without ~/.local/bin in PATH: the installation links the command there."""
    links = str(Path.home() / ".local" / "bin")
    path = os.environ.get("PATH", "").split(os.pathsep)
    kept = os.pathsep.join(each for each in path if each.rstrip("/") != links)
    return os.environ | {"PATH": kept}
