"""The files of a language: those of nanobot in `zh/`, and `zh.toml` in the folder of each plugin.
Each is a table with one row a text: the English template with numbered holes, and its translation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from nanobot.log_context import rarely_used_log
from nanobot.plugins.common.translation.template import Template
from nanobot.texts import FOLDER


def rows_of(language: str, folders: Iterable[tuple[str, Path]]) -> dict[str, str]:
    """All rows. Where a plugin has a text of nanobot or of an earlier plugin, the other translation
    counts. A file of a plugin that cannot be used is named in the log, and its texts stay in
    English."""
    rows: dict[str, str] = {}
    for file in sorted((FOLDER / language).glob("*.toml")):
        rows |= tomllib.loads(file.read_text("utf-8"))
    for plugin, folder in folders:
        file = folder / f"{language}.toml"
        try:
            rows = {**rows_in(file), **rows}
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            rarely_used_log().warning("texts of the plugin {}: {}: {}", plugin, file, error)
    return rows


def rows_in(file: Path) -> dict[str, str]:
    """The rows of a file. Raises OSError, and ValueError for a row that cannot be used."""
    rows = tomllib.loads(file.read_text("utf-8"))
    for row, said in rows.items():
        if not isinstance(said, str) or not said.strip():
            raise ValueError(f"{row!r} has no translation")
        template, translation = Template.read(row), Template.read(said)
        if {hole.number for hole in template.holes} != {hole.number for hole in translation.holes}:
            raise ValueError(f"the translation of {row!r} has other holes")
        if not template.weight:
            raise ValueError(f"{row!r} has no words of its own: any text could be meant")
    return rows
