"""The language of the terminal."""

from __future__ import annotations

import os

from nanobot.texts import language_of_terminal


def terminal_language() -> str:
    """The language that this process is to speak, by its environment."""
    return language_of_terminal(os.environ)  # noqa: TID251 - an error can come before it is read
