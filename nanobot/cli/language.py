"""The language of the terminal."""

from __future__ import annotations

import os

from nanobot.text import Sentence
from nanobot.texts import language_of_terminal, translated


def said(text: Sentence, *, within: bool = True) -> str:
    """The text in the language of the terminal. `within`: see `translated`."""
    return translated(text, terminal_language(), within=within)


def terminal_language() -> str:
    """That language."""
    return language_of_terminal(os.environ)  # noqa: TID251 - an error can come before it is read
