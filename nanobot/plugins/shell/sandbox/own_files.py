"""The files that a program needs to start: its installation, wherever it is."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")))
# Parts of an installation; other folders next to them (share, etc, var) may contain personal data.
_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg")
# Marks the folder of a project, whose parts load one another.
_PROJECT = ("package.json", "node_modules", "pyproject.toml", "pyvenv.cfg")
NODE_MODULES = "node_modules"
"""Node's package folder: a package loads others from any such folder above it."""
_MOST_PARENTS = 4
_MOST_PACKAGES = 5_000
_MOST_LINKS = 16
_HEAD_BYTES = 256


def own_files(program: Path, guarded: Collection[Path]) -> list[Path]:
    """The files and folders of a program, of the interpreter in its first line, and of all link
    targets. Never a folder that contains one of `guarded`.
    """
    paths = dict[Path, None]()
    waiting, visited = [program], set[Path]()
    while waiting and len(visited) < _MOST_LINKS:
        step = waiting.pop()
        if step in visited or not step.exists():
            continue
        visited.add(step)
        if not any(step.is_relative_to(folder) for folder in _SYSTEM):
            paths.update(dict.fromkeys(_installation(step, guarded)))
        if step.is_symlink():
            waiting.append(Path(os.path.normpath(step.parent / step.readlink())))
        waiting += [*_interpreter(step), *_base_python(step)]
    return list(paths)


def project_of(script: Path, guarded: Collection[Path]) -> Path:
    """The project folder of a script, or only the script."""
    if (modules := _modules_of(script, guarded)) is not None:
        return modules
    folder = script.parent
    for parent in (folder, *list(folder.parents)[:_MOST_PARENTS]):
        if not _is_open(parent, guarded):
            break
        if any((parent / mark).exists() for mark in _PROJECT):
            return parent
    return folder if _is_open(folder, guarded) else script


def projects_of(script: Path, guarded: Collection[Path]) -> list[Path]:
    """The folder from `project_of`, and packages linked into it from other places."""
    project = project_of(script, guarded)
    return [project, *_linked(project, guarded)]


def _modules_of(script: Path, guarded: Collection[Path]) -> Path | None:
    """The folder around the outermost `node_modules` that the script may load from; only
    `node_modules` itself if personal files are next to it. None if there is no such folder.
    """
    around = [parent for parent in script.parents if (parent / NODE_MODULES).is_dir()]
    around = [parent for parent in around if not any(map(parent.is_relative_to, _SYSTEM))]
    for parent in reversed(around):
        if _is_open(parent, guarded):
            return parent
        if script.is_relative_to(parent / NODE_MODULES):
            return parent / NODE_MODULES
    return None


def _linked(project: Path, guarded: Collection[Path]) -> Iterator[Path]:
    """Packages that `npm link`, a workspace or a store put elsewhere."""
    modules = project if project.name == NODE_MODULES else project / NODE_MODULES
    packages = islice(chain(modules.glob("*"), modules.glob("@*/*")), _MOST_PACKAGES)
    for package in packages:
        target = package.resolve() if package.is_symlink() else package
        if not target.is_relative_to(project) and target.is_dir():
            yield project_of(target / "package.json", guarded)


def _installation(step: Path, guarded: Collection[Path]) -> Iterator[Path]:
    prefix = step.parent.parent
    if (modules := _modules_of(step, guarded)) is not None and NODE_MODULES in step.parts:
        yield modules
        yield from _linked(modules, guarded)
    elif step.parent.name in ("bin", "sbin") and len(prefix.parts) > 1:
        yield from (prefix / part for part in _PARTS if (prefix / part).exists())
    elif _is_open(step.parent, guarded):
        yield step.parent
    else:
        yield step


def _interpreter(step: Path) -> Iterator[Path]:
    with suppress(OSError), step.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        words = head[2:].split(b"\n")[0].split()
        if head.startswith(b"#!") and words:
            yield Path(os.fsdecode(words[0]))


def _base_python(step: Path) -> Iterator[Path]:
    """The Python that a virtual environment was made from, if it is not a link."""
    with suppress(OSError, UnicodeDecodeError):
        for line in (step.parent.parent / "pyvenv.cfg").read_text("utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "home":
                yield Path(value.strip()) / step.name


def _is_open(folder: Path, guarded: Collection[Path]) -> bool:
    return len(folder.parts) > 1 and not any(path.is_relative_to(folder) for path in guarded)
