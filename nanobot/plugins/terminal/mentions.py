"""Files in a person's input: `@PATH`, `/image PATH [text]`, or a picture's path on a line of its
own, as terminals paste a dropped file.
"""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from nanobot.plugins.common.control.client import ControlClient

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".webp"})
_COMMAND = "/image"
_MENTION = re.compile(r"(?<!\S)@(\S+)")
_MOST_BYTES = 200_000
_MOST_NAMES = 5_000
_SHOWN = 200
# In quotation marks, or with escaped blanks: terminals do one or the other.
_WORD = re.compile(r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s\\]|\\.)+)""")


class Typed(msgspec.Struct, frozen=True):
    """The message, and the absolute paths of its pictures. `note` says which files could not be
    included. `files` are those whose content is in the text.
    """

    text: str
    images: tuple[str, ...] = ()
    note: str = ""
    files: tuple[str, ...] = ()


def typed(text: str) -> Typed:
    """Take the pictures that a message names out of its text, and append the text files that it
    names. `/image` without a path names an empty one, which is refused like any missing file.
    """
    command, _, rest = text.strip().partition(" ")
    if command == _COMMAND:
        path, remaining = _first(rest.strip())
        return Typed(remaining, (absolute(path) if path else "",))
    lines = text.split("\n")
    paths = {number: path for number, line in enumerate(lines) if (path := _dropped(line))}
    remaining = "\n".join(line for number, line in enumerate(lines) if number not in paths)
    message = Typed(remaining.strip() if paths else text, tuple(paths.values()))
    return _with_mentioned(message)


def _with_mentioned(message: Typed) -> Typed:
    """The message with the files that it names as `@PATH`. A name without a file is left as a word;
    there is a note if it looks like a path or closely resembles a file name.
    """
    images, parts, notes, room = list(message.images), [message.text], [], _MOST_BYTES
    files: list[str] = []
    for word in dict.fromkeys(_MENTION.findall(message.text)):
        file = next((file for path in (word, word.rstrip(".,;:!?)")) if (file := _file(path))), "")
        if not file:
            notes += _not_there(word)
            continue
        if Path(file).suffix.lower() in _SUFFIXES:
            images.append(file)
            continue
        content, note = _content(file, room)
        room -= len(content)
        if content:
            files.append(file)
            parts.append(f"{file}:\n```\n{content.decode('utf-8', 'replace')}\n```")
        notes += [note] if note else []
    return Typed("\n\n".join(parts), tuple(images), "; ".join(notes), tuple(files))


def _not_there(word: str) -> list[str]:
    """The note about an `@WORD` that names no file; none for a word that is probably a person's
    name.
    """
    word = word.rstrip(".,;:!?)")
    path = Path(absolute(word))
    with suppress(OSError, ValueError):
        if word and path.is_dir():
            return [f"@{word} is a folder; name a file in it"]
    try:
        names = [each.name for each in islice(path.parent.iterdir(), _MOST_NAMES)]
    except (OSError, ValueError):
        names = []
    near = difflib.get_close_matches(path.name, names, 1)
    if not (near or "/" in word or Path(word).suffix):
        return []
    hint = f"; did you mean @{word[: len(word) - len(path.name)]}{near[0]}?" if near else ""
    return [f"There is no file {word[:_SHOWN]}, so only its name was sent{hint}"]


def _content(file: str, room: int) -> tuple[bytes, str]:
    """At most `room` bytes of a text, and a note about the rest."""
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(room + 1)
    except OSError as error:
        return b"", f"{file} cannot be read ({error.strerror})"
    if b"\0" in content:
        return b"", f"{file} is not text and was not taken along"
    if len(content) > room:
        return content[:room], f"{file} was cut: a message takes {_MOST_BYTES:,} bytes of files"
    return content, ""


def _file(path: str) -> str:
    """The file of that name; empty if it does not exist."""
    with suppress(OSError, ValueError):  # too long for a name, or with what no name holds
        name = absolute(path)
        return name if Path(name).is_file() else ""
    return ""


def absolute(path: str) -> str:
    """The path in a form that another process understands."""
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    with suppress(RuntimeError, ValueError):  # ~user does not exist, or cannot be resolved
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
    """The picture that this line is the path of; empty if it is not one."""
    word, rest = _first(line.strip())
    path = line.strip() if rest else word
    begins = path.startswith(("/", "~/", "./", "../", "file:///"))
    if not begins or Path(path).suffix.lower() not in _SUFFIXES:
        return ""
    return _file(path)


def say_typed(client: ControlClient, text: str, key: str) -> str:
    """Send a message as typed, with the files that it names; returns a note about files that could
    not be included.
    """
    message = typed(text)
    client.say(message.text, key, images=message.images, files=message.files)
    return message.note
