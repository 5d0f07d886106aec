"""The files of a catalogue, and how they differ from what the code says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec

from tests.texts.faces import faces
from tests.texts.shown import shown_rows
from tests.texts.source import ROOT

SYSTEM = "system.toml"
"""Texts of the operating system: no code of ours says them."""
FOLDER = ROOT / "nanobot" / "texts" / "zh"


class Difference(msgspec.Struct, frozen=True):
    """What is missing in the files: rows with the path that says them first. What is there and no
    code says: rows with their file. And rows without a translation."""

    missing: dict[str, str]
    unused: dict[str, str]
    empty: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unused or self.empty)

    def __str__(self) -> str:
        lines = []
        for path, row in sorted((file_of(path), row) for row, path in self.missing.items()):
            lines.append(f"{path}: missing, said by {self.missing[row]}: paste\n{_line(row, '')}")
        lines += [f"{path}: no code says: {row!r}" for row, path in self.unused.items()]
        lines += [f"{path}: not translated: {row!r}" for row, path in self.empty.items()]
        return "\n".join(
            [*lines, f"{len(lines)} row(s) to mend" if lines else "All texts have rows."]
        )


def difference() -> Difference:
    """How the files differ from the code."""
    said, kept = faces() | shown_rows(), read()
    return Difference(
        {row: path for row, path in said.items() if row not in kept},
        {row: file for row, (file, _) in kept.items() if row not in said and file != SYSTEM},
        {row: file for row, (file, text) in kept.items() if not text},
    )


def read() -> dict[str, tuple[str, str]]:
    """The file and the translation of each row."""
    return {
        row: (file.name, text)
        for file in sorted(FOLDER.glob("*.toml"))
        for row, text in tomllib.loads(file.read_text("utf-8")).items()
    }


def write(found: Difference) -> None:
    """Bring the files up to date; what is new has no translation yet."""
    kept = {row: each for row, each in read().items() if row not in found.unused}
    kept |= {row: (file_of(path), "") for row, path in found.missing.items()}
    for name in {file for file, _ in kept.values()} | {file.name for file in FOLDER.glob("*.toml")}:
        rows = {row: text for row, (file, text) in kept.items() if file == name}
        lines = sorted((_line(row, text) for row, text in rows.items()), key=_in_order)
        (FOLDER / name).write_text("\n".join([*lines, ""]), "utf-8")


def file_of(path: str) -> str:
    """The file for the texts of a module."""
    parts = Path(path).parts
    if parts[0] == "channels":
        return "platforms.toml"
    return f"{parts[1]}.toml" if len(parts) > 2 else "core.toml"


def _line(row: str, text: str) -> str:
    return f"{json.dumps(row, ensure_ascii=False)} = {json.dumps(text, ensure_ascii=False)}"


def _in_order(line: str) -> tuple[str, str]:
    return re.sub(r"[^a-z ]", "", line.lower()), line
