"""Pictures in what a person types: `/image PATH [text]`, or a path on a line of its own, as
terminals paste a file that is dropped on them."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from nanobot.server.client import ControlClient

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".webp"})
_COMMAND = "/image"
# In quotation marks, or with its blanks escaped: terminals do one or the other.
_WORD = re.compile(r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s\\]|\\.)+)""")


class Typed(msgspec.Struct, frozen=True):
    """What is said, and the absolute paths of the pictures that go with it."""

    text: str
    images: tuple[str, ...] = ()


def typed(text: str) -> Typed:
    """The pictures that a message names, taken out of its text. `/image` without a path names an
    empty one, which is refused like any file that is not there."""
    command, _, rest = text.strip().partition(" ")
    if command == _COMMAND:
        path, remaining = _first(rest.strip())
        return Typed(remaining, (absolute(path) if path else "",))
    lines = text.split("\n")
    paths = {number: path for number, line in enumerate(lines) if (path := _dropped(line))}
    remaining = "\n".join(line for number, line in enumerate(lines) if number not in paths)
    return Typed(remaining.strip() if paths else text, tuple(paths.values()))


def absolute(path: str) -> str:
    """The path as another process understands it."""
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    with suppress(RuntimeError, ValueError):  # ~somebody who does not exist, or could not
        path = str(Path(path).expanduser().absolute())
    return path.encode("utf-8", "replace").decode()


def _first(text: str) -> tuple[str, str]:
    """The first word, and the rest."""
    match = _WORD.match(text)
    if match is None:
        return text, ""
    word = match["raw"] if match["raw"] is not None else match["quoted"] or match["bare"] or ""
    if match["raw"] is None:
        word = re.sub(r"\\(.)", r"\1", word)
    return word, text[match.end() :].strip()


def _dropped(line: str) -> str:
    """The picture that this line is the path of; empty if it is none."""
    word, rest = _first(line.strip())
    path = line.strip() if rest else word
    begins = path.startswith(("/", "~/", "./", "../", "file:///"))
    if not begins or Path(path).suffix.lower() not in _SUFFIXES:
        return ""
    with suppress(OSError, ValueError):  # too long for a name, or with what no name holds
        picture = absolute(path)
        return picture if Path(picture).is_file() else ""
    return ""


def say_typed(client: ControlClient, text: str, key: str) -> None:
    """Send a message as it was typed, with the pictures that it names."""
    message = typed(text)
    client.say(message.text, key, images=message.images)
