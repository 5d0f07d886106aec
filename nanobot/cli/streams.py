"""The standard streams and arguments of a command, whatever started it: closed, or not UTF-8."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

_UNDECODED = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""What Python makes of bytes that the locale cannot decode."""
_READ_AND_WRITE = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def prepare() -> None:
    """Open a closed stream on nothing, so that no file of ours gets its number. Characters that a
    stream cannot show are escaped instead of ending the command.
    """
    for number, (name, mode) in enumerate(_READ_AND_WRITE):
        if getattr(sys, name) is None:
            setattr(sys, name, _on_nothing(number, mode))
    stream = sys.stdout  # of standard error, Python does it itself
    if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
        stream.reconfigure(errors="backslashreplace")


def _on_nothing(number: int, mode: str) -> object:
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        try:
            os.fstat(number)  # something else has the number already
        except OSError:
            os.dup2(descriptor, number)
            os.close(descriptor)
            descriptor = number
    os.set_inheritable(descriptor, True)  # by the programs that we start
    return open(descriptor, mode, encoding="utf-8", closefd=False)


def lost() -> str | None:
    """Why standard output cannot be written, and from now on it goes nowhere; None: it can."""
    try:
        os.write(sys.stdout.fileno(), b"\n")  # what Python has buffered may be gone already
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error.strerror or type(error).__name__
    return None


def decode(arguments: list[str]) -> str | None:
    """Decode arguments that the locale could not as UTF-8, in place. Returns the first one that is
    not UTF-8 either.
    """
    for number, argument in enumerate(arguments):
        if argument.isascii() or not _UNDECODED.intersection(argument):
            continue
        try:
            arguments[number] = os.fsencode(argument).decode()
        except UnicodeError:
            return argument
    return None
