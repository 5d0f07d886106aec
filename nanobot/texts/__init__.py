"""The languages of people, and who translates for them what nanobot says in English: all that is
declared as a `Sentence`. A plugin provides the translator; without one, all of it stays English.
`zh/` has the Chinese of the core's texts; `python -m tests.texts` lists those without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

ENGLISH = "en"
LANGUAGES = ("zh",)
FOLDER = Path(__file__).parent


class Translate(Protocol):
    """Says a text of nanobot's in one of LANGUAGES; what is not known stays in English. `within`:
    it is a part of one, and certainly nanobot's."""

    def __call__(self, text: str, language: str, *, within: bool = False) -> str: ...


_folders: dict[str, Path] = {}
_translators: list[Callable[[], Translate | None]] = []


def use(folders: Mapping[str, Path], translator: Callable[[], Translate | None]) -> None:
    """From now on, translations of these plugins' texts are in `LANGUAGE.toml` of their folders,
    and `translator` gives what translates."""
    _folders.clear()
    _folders.update(folders)
    _translators[:] = [translator]


def folders() -> tuple[tuple[str, Path], ...]:
    """The plugins with translations and their folders, in the order in which they take part."""
    return tuple(_folders.items())


def translated(text: str, language: str, *, within: bool = False) -> str:
    """A text of nanobot's in a language; see Translate."""
    known = [translator() for translator in _translators if language != ENGLISH]
    return next((said(text, language, within=within) for said in known if said), text)


def locale_of_terminal(environ: Mapping[str, str]) -> str:
    """What the variables that all programs follow say of a terminal's language ("zh_CN.UTF-8"):
    LC_ALL, else LC_MESSAGES, else LANG. A bare "C" asks for English; "C.UTF-8" says nothing."""
    found = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    named = next(filter(None, found), "")
    return ENGLISH if named in ("C", "POSIX") else named


def language_of_terminal(environ: Mapping[str, str]) -> str:
    """The language of a terminal. `LC_ALL=C` asks for English."""
    language = locale_of_terminal(environ).lower().partition("_")[0].partition(".")[0]
    return language if language in LANGUAGES else ENGLISH
