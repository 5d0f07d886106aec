"""The language of the terminal."""

from __future__ import annotations

import os

from nanobot.text import Sentence
from nanobot.texts import ENGLISH, language_of_terminal, translated


def is_english() -> bool:
    """Whether the terminal speaks English, in which all texts are written."""
    return _language() == ENGLISH


def said(text: Sentence, *, within: bool = True) -> str:
    """The text in the language of the terminal. `within`: see `translated`."""
    return translated(text, _language(), within=within)


def _language() -> str:
    return language_of_terminal(os.environ)  # noqa: TID251 - an error can come before it is read
