"""All output of commands: text for people without anything that a terminal would execute,
JSON for programs unchanged. The linter forbids printing anywhere else.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Literal, TextIO, TypeAlias

import msgspec

from nanobot.cli.output import harmless
from nanobot.text import pattern

Style: TypeAlias = Literal["", "bold", "red", "green", "yellow", "dim"]
_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}

# In JSON the same characters, escaped: the value stays the same.
_UNWANTED_IN_JSON = pattern("[\x7f-\x9f]")
_NOT_ASCII = pattern("[^\x00-\x7e]")


class _Looks:
    colour = True


def without_colours() -> None:
    """From now on no line has a style, as NO_COLOR demands (https://no-color.org)."""
    _Looks.colour = False


class Line(msgspec.Struct, frozen=True):
    """A line with a styled beginning, if the terminal has styles; `rest` is plain."""

    text: str
    style: Style
    rest: str = ""


def say(*lines: str | Line) -> None:
    """Lines on standard output."""
    _write(sys.stdout, lines or ("",))


def warn(*lines: str | Line) -> None:
    """Lines on standard error: everything but results."""
    _write(sys.stderr, lines or ("",))


def piece(text: str) -> None:
    """A part of a line, shown at once."""
    sys.stdout.write(harmless(text))
    sys.stdout.flush()


def document(value: Any) -> None:
    """A value for programs, as one JSON document that is also readable for people."""
    raw = bytes(value) if isinstance(value, bytes | msgspec.Raw) else msgspec.json.encode(value)
    _write_json(msgspec.json.format(raw, indent=2).decode())


def record(value: Any) -> None:
    """A value for programs that read line by line, as JSON."""
    _write_json(msgspec.json.encode(value).decode())


def _write(stream: TextIO, lines: tuple[str | Line, ...]) -> None:
    for line in lines:
        print(drawn(line, stream), file=stream)
    stream.flush()


def drawn(line: str | Line, stream: TextIO) -> str:
    """A line as that stream shows it: with its style on a terminal, and always harmless."""
    if isinstance(line, str):
        return harmless(line)
    text = harmless(line.text)
    if line.style and _Looks.colour and stream.isatty():
        text = f"\x1b[{_CODES[line.style]}m{text}\x1b[0m"
    return text + harmless(line.rest)


def _write_json(text: str) -> None:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
        escaped = _UNWANTED_IN_JSON.sub(_in_json, text)
    except UnicodeEncodeError:  # not a terminal of UTF-8
        escaped = _NOT_ASCII.sub(_in_json, text)
    print(escaped, flush=True)


def _in_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]
