"""A program call in a command line."""

from __future__ import annotations

import msgspec

from nanobot.plugins.shell.words import Word


class ProgramCall(msgspec.Struct, frozen=True):
    """A program that is run. `fed`: the programs whose output it reads or gets as words. `input`:
    the text it reads, if the line itself contains it. `writes`: the files it is redirected to.
    `reads`: the files it is fed from.
    """

    words: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    fed: tuple[ProgramCall, ...] = ()
    input: str = ""
    reads: tuple[Word, ...] = ()

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
