"""The files of a catalogue, and how they differ from what the code says. A text that the core says
has its row in `nanobot/texts/zh`, and so has one of the code that plugins share; one that only
plugins say has it in the folder of the first of them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec

from tests.syntax import ROOT
from tests.texts.faces import faces
from tests.texts.shown import shown_rows

CORE = "nanobot/texts/zh"
PLUGINS = "nanobot/plugins"
SHARED = f"{PLUGINS}/common/"
"""What plugins share is no plugin, which could bring translations."""
SYSTEM = f"{CORE}/system.toml"
"""Texts of the operating system: no code of ours says them."""


class Difference(msgspec.Struct, frozen=True):
    """What is missing in the files: rows with the path that says them first. What is there and no
    code says: rows with their file. Rows without a translation. And rows that belong into another
    file, which is named."""

    missing: dict[str, str]
    unused: dict[str, str]
    empty: dict[str, str]
    misplaced: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unused or self.empty or self.misplaced)

    def __str__(self) -> str:
        lines = []
        for path, row in sorted((file_of(path), row) for row, path in self.missing.items()):
            lines.append(f"{path}: missing, said by {self.missing[row]}: paste\n{_line(row, '')}")
        lines += [f"{path}: no code says: {row!r}" for row, path in self.unused.items()]
        lines += [f"{path}: not translated: {row!r}" for row, path in self.empty.items()]
        lines += [f"{path}: belongs here: {row!r}" for row, path in self.misplaced.items()]
        return "\n".join(
            [*lines, f"{len(lines)} row(s) to mend" if lines else "All texts have rows."]
        )


def difference() -> Difference:
    """How the files differ from the code."""
    said, kept = said_by(), read()
    return Difference(
        {row: path for row, path in said.items() if row not in kept},
        {row: file for row, (file, _) in kept.items() if row not in said and file != SYSTEM},
        {row: file for row, (file, text) in kept.items() if not text},
        {
            row: file_of(said[row])
            for row, (file, _) in kept.items()
            if row in said and file not in (SYSTEM, file_of(said[row]))
        },
    )


def said_by() -> dict[str, str]:
    """The path of the module by row: of several, the first one that is of no plugin."""
    places: dict[str, set[str]] = {}
    for row, path in (*faces(), *shown_rows()):
        places.setdefault(row, set()).add(path)
    return {row: min(paths, key=_core_first) for row, paths in places.items()}


def _core_first(path: str) -> tuple[bool, str]:
    return path.startswith(f"{PLUGINS}/") and not path.startswith(SHARED), path


def files() -> list[Path]:
    """The files, those of the core first."""
    return [*sorted((ROOT / CORE).glob("*.toml")), *sorted((ROOT / PLUGINS).glob("*/zh.toml"))]


def read() -> dict[str, tuple[str, str]]:
    """The file and the translation of each row."""
    return {
        row: (file.relative_to(ROOT).as_posix(), text)
        for file in reversed(files())
        for row, text in tomllib.loads(file.read_text("utf-8")).items()
    }


def write(found: Difference) -> None:
    """Bring the files up to date; what is new has no translation yet."""
    kept = {row: each for row, each in read().items() if row not in found.unused}
    kept |= {row: (file, kept[row][1]) for row, file in found.misplaced.items()}
    kept |= {row: (file_of(path), "") for row, path in found.missing.items()}
    before = {file.relative_to(ROOT).as_posix() for file in files()}
    for name in before | {file for file, _ in kept.values()}:
        rows = {row: text for row, (file, text) in kept.items() if file == name}
        lines = sorted((_line(row, text) for row, text in rows.items()), key=_in_order)
        if lines:
            (ROOT / name).write_text("\n".join([*lines, ""]), "utf-8")
        else:
            (ROOT / name).unlink()


def file_of(path: str) -> str:
    """The file for the texts of a module."""
    parts = Path(path).parts
    if parts[0] == "channels":
        return f"{CORE}/platforms.toml"
    if path.startswith(SHARED):
        return f"{CORE}/plugins.toml"
    if path.startswith(f"{PLUGINS}/") and len(parts) > 3:
        return f"{PLUGINS}/{parts[2]}/zh.toml"
    return f"{CORE}/{parts[1]}.toml" if len(parts) > 2 else f"{CORE}/core.toml"


def _line(row: str, text: str) -> str:
    return f"{json.dumps(row, ensure_ascii=False)} = {json.dumps(text, ensure_ascii=False)}"


def _in_order(line: str) -> tuple[str, str]:
    return re.sub(r"[^a-z ]", "", line.lower()), line
