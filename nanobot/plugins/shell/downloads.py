"""Finds files that a command line downloads and then runs without a check."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from nanobot.plugins.shell.inner_calls import interpreter
from nanobot.plugins.shell.program_call import ProgramCall

DOWNLOADERS = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "lynx", "w3m"})
_NAMING = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "aria2c": ("-o", "--out"),
    "http": ("-o", "--output"),
    "https": ("-o", "--output"),
    "fetch": ("-o",),
}
_MOST_FEEDING = 200
_BY_URL = frozenset({"wget", "aria2c", "fetch"})


def run_downloads(calls: Iterable[ProgramCall]) -> Iterator[tuple[str, str]]:
    """Each file that is run after it was downloaded, and the program that runs it."""
    downloaded: dict[str, str] = {}
    for call in calls:
        for path in _run(call):
            if path in downloaded:
                yield path, downloaded[path]
        if call.name in DOWNLOADERS:
            downloaded |= dict.fromkeys(_saved(call), call.name)
        source = next((fed.name for fed in feeding(call) if fed.name in DOWNLOADERS), "")
        if source or call.name in DOWNLOADERS:
            targets = [word.text for word in call.writes]
            targets += call.operands if call.name == "tee" else ()
            downloaded |= dict.fromkeys(map(posixpath.normpath, targets), source or call.name)
        if call.name in ("mv", "cp", "ln", "install") and len(call.operands) == 2:
            before, after = map(posixpath.normpath, call.operands)
            if before in downloaded:
                downloaded[after] = downloaded[before]


def feeding(call: ProgramCall) -> Iterator[ProgramCall]:
    """The sources of a call's input, and their sources in turn; at most 200."""
    waiting = list(call.fed)
    for _ in range(_MOST_FEEDING):
        if not waiting:
            return
        fed = waiting.pop()
        yield fed
        waiting += fed.fed


def _saved(call: ProgramCall) -> Iterator[str]:
    """The files that a downloader writes because of its options."""
    named = False
    for at, word in enumerate(call.arguments):
        for option in _NAMING.get(call.name, ()):
            given = _given(option, word)
            if given is not None:
                named = True
                following = call.arguments[at + 1 : at + 2]
                yield from map(posixpath.normpath, [given] if given else following)
    remote = "-O" in call.arguments or "--remote-name" in call.arguments
    if (call.name in _BY_URL and not named) or (call.name == "curl" and remote):
        for operand in call.operands:
            if name := posixpath.basename(urlsplit(operand).path):
                yield name


def _given(option: str, word: str) -> str | None:
    """The value that a word gives to an option, "" if it is the next word; None if the word is
    another option.
    """
    if option.startswith("--"):
        name, equals, value = word.partition("=")
        return value if name == option and (equals or word == option) else None
    match = re.match(rf"-[a-zA-Z#]*?{option[1]}(.*)", word, re.DOTALL)
    return match[1] if match and not word.startswith("--") else None


def _run(call: ProgramCall) -> Iterator[str]:
    """The files that a call runs."""
    if interpreter(call) or call.name in ("source", "."):
        paths = [*call.operands[:1], *(word.text for word in call.reads)]
    else:
        paths = [call.words[0].text] if call.words and "/" in call.words[0].text else []
    yield from map(posixpath.normpath, paths)
