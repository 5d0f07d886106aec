"""A program call in a command line."""

from __future__ import annotations

import msgspec

from nanobot.plugins.shell.words import Word


class ProgramCall(msgspec.Struct, frozen=True):
    """A program that is run."""

    words: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    """The files it is redirected to."""
    fed: tuple[ProgramCall, ...] = ()
    """The programs whose output it reads or gets as words."""
    input: str = ""
    """The text it reads, if the line itself contains it."""
    reads: tuple[Word, ...] = ()
    """The files it is fed from."""

    @property
    def name(self) -> str:
        """The program without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the program."""
        return tuple(word.text for word in self.words[1:])

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are not options."""
        return tuple(word for word in self.arguments if not word.startswith("-"))
