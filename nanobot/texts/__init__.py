"""The texts of nanobot in other languages: errors, findings, steps and all else that is declared as
a `Sentence`. The code says everything in English; a catalogue in `zh/` has each text once, with
numbered holes for its values. `python -m tests.texts` lists the texts that have no row yet.
"""

from nanobot.texts.answers import data_in, in_language
from nanobot.texts.languages import (
    ENGLISH,
    known_language,
    language_of,
    language_of_terminal,
    locale_of_terminal,
    translated,
    translated_parts,
)

__all__ = [
    "ENGLISH",
    "data_in",
    "in_language",
    "known_language",
    "language_of",
    "language_of_terminal",
    "locale_of_terminal",
    "translated",
    "translated_parts",
]
