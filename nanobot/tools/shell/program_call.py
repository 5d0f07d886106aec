"""A program as a command line runs it."""

from __future__ import annotations

import msgspec

from nanobot.tools.shell.words import Word


class ProgramCall(msgspec.Struct, frozen=True):
    """A program that is run. `fed` are the programs whose output it reads or is given as words,
    `input` the text it reads if the line itself holds it, `writes` the files it is redirected to,
    `reads` those it is fed from."""

    words: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    fed: tuple[ProgramCall, ...] = ()
    input: str = ""
    reads: tuple[Word, ...] = ()

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return tuple(word.text for word in self.words[1:])

    @property
    def operands(self) -> tuple[str, ...]:
        """Those of them that are no options."""
        return tuple(word for word in self.arguments if not word.startswith("-"))
