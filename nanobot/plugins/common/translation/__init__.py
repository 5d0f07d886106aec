"""Translates texts of nanobot's: each has a row in a file of its language."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from nanobot import texts
from nanobot.plugins.common.translation.catalogue import Catalogue
from nanobot.plugins.common.translation.files import rows_of
from nanobot.texts import ENGLISH, LANGUAGES

_MOST = 20
"""Languages of one header that are looked at."""


def catalogue(language: str) -> Catalogue:
    """The texts of a language other than English: nanobot's own, and those of the plugins that are
    known by now. Read at the first use."""
    return _read(language, texts.folders())


@lru_cache(maxsize=4)
def _read(language: str, folders: tuple[tuple[str, Path], ...]) -> Catalogue:
    return Catalogue(rows_of(language, folders))


def translated(text: str, language: str, *, within: bool = False) -> str:
    """See nanobot.texts.Translate."""
    if language == ENGLISH:
        return text
    known = catalogue(language)
    return known.within(text) if within else known.translated(text)


def translated_parts(text: str, parts: Iterable[tuple[int, int]], language: str) -> str:
    """A text with these parts of it, which are nanobot's own words, in a language."""
    if language == ENGLISH:
        return text
    pieces, at = [], 0
    for start, end in parts:
        pieces += [text[at:start], _between_blanks(text[start:end], language)]
        at = end
    return "".join([*pieces, text[at:]])


def _between_blanks(text: str, language: str) -> str:
    """The translation of a part, with the blanks around it."""
    core = text.strip()
    before, _, after = text.partition(core)
    return f"{before}{translated(core, language, within=True)}{after}" if core else text


def known_language(name: str) -> str:
    """The language that a platform's name for it means ("zh-hans", "en_GB"); "" if there are no
    texts in it."""
    language = name.strip().lower().replace("_", "-").partition("-")[0]
    return language if language in (ENGLISH, *LANGUAGES) else ""


def language_of(accepted: str) -> str:
    """The language that an Accept-Language header prefers among those there are: "en" or "zh"."""
    best, most = ENGLISH, 0.0
    for choice in accepted.split(",", _MOST)[:_MOST]:
        name, _, quality = choice.partition(";")
        language = name.strip().lower().partition("-")[0]
        wanted = _quality(quality)
        if language in (ENGLISH, *LANGUAGES) and wanted > most:
            best, most = language, wanted
    return best


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
