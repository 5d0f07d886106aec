"""The last warnings and errors of the log, in nanobot's own words."""

from __future__ import annotations

import os
import re
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from nanobot.plugins.common.gateway_log import log_file_of
from nanobot.plugins.diagnostics.own_words import OwnWords
from nanobot.seam.installed import Interface, provided

SERVICE_LOG: Interface[Callable[[Mapping[str, str]], list[str]]] = Interface("service_log")
"""The command that prints the log of the service of a home, from its environment; empty if nothing
keeps one."""

_MOST_BYTES = 2_000_000
_MOST_EVENTS = 200
_MOST_TRACE = 40
_MOST_LINES = 20_000
_JOURNAL_SECONDS = 10.0
_HEAD = re.compile(r"((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d) ([A-Z]+) +(.*)")
_LEVELS = frozenset({"WARNING", "ERROR", "CRITICAL"})
_FRAME = re.compile(r'\s*File "([^"]+)", line (\d+), in (.+)')
_FAILURE = re.compile(r"(\w+(?:\.\w+)*): ?(.*)")
_ROOTS = ("site-packages/", "nanobot/", "nanobot_channels/")


class _Event(msgspec.Struct):
    """A line of the log with its traceback."""

    at: str
    level: str
    text: str
    trace: list[str]


def log(home: Path, environ: Mapping[str, str], own: OwnWords) -> str:
    """Up to 200 events, oldest first. Raises OSError if a file cannot be read."""
    file = log_file_of(home)
    files = [each for each in (file.with_name(f"{file.name}.1"), file) if each.exists()]
    lines = [line for each in files for line in _tail(each)] or _journal(environ)
    if not lines:
        return "There is no log."
    events = _events(lines)
    if not events:
        count = "1 line" if len(lines) == 1 else f"{len(lines):,} lines"
        return f"No warning and no error in {count}."
    return "\n".join(line for event in events for line in _shown(event, own))


def _tail(file: Path) -> list[str]:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _MOST_BYTES, 0))
        lines = stream.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
    return lines[1:] if size > _MOST_BYTES else lines


def _journal(environ: Mapping[str, str]) -> list[str]:
    """The lines that systemd has stored, if it runs this home's gateway."""
    command_of = provided(SERVICE_LOG)
    command = [] if command_of is None else command_of(environ)
    if not command:
        return []
    read = subprocess.run(  # noqa: S603 - no shell
        [*command, "--output=cat", f"--lines={_MOST_LINES}"],
        env=dict(environ),
        check=False,
        capture_output=True,
        timeout=_JOURNAL_SECONDS,
    )
    return read.stdout.decode("utf-8", "replace").splitlines()


def _events(lines: Iterable[str]) -> deque[_Event]:
    events: deque[_Event] = deque(maxlen=_MOST_EVENTS)
    current: _Event | None = None
    for line in lines:
        event = _of_json(line) if line.startswith("{") else _of_text(line)
        if event is None:
            if current is not None and line.strip():
                current.trace.append(line)
            continue
        current = event if event.level in _LEVELS else None
        if current is not None:
            events.append(current)
    return events


def _of_text(line: str) -> _Event | None:
    found = _HEAD.fullmatch(line)
    return None if found is None else _Event(found[1], found[2], found[3], [])


def _of_json(line: str) -> _Event | None:
    try:
        event = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError:
        return None
    at, level, text = (str(event.get(name, "")) for name in ("time", "level", "message"))
    return _Event(at, level.upper(), text, str(event.get("stack", "")).splitlines())


def _shown(event: _Event, own: OwnWords) -> Iterable[str]:
    yield f"{event.at} {event.level} {own(event.text)}"
    if len(event.trace) > _MOST_TRACE:
        yield f"    ({len(event.trace) - _MOST_TRACE} lines left out)"
    for line in event.trace[-_MOST_TRACE:]:
        if shown := _trace_line(line, own):
            yield f"    {shown}"


def _trace_line(line: str, own: OwnWords) -> str:
    """A place in the code, or an error; the lines of code themselves are left out."""
    if frame := _FRAME.match(line):
        return f"{_in_package(frame[1])}:{frame[2]}"
    if line.startswith("Traceback "):
        return "Traceback:"
    bare = line.strip(" |+-")
    failure = _FAILURE.fullmatch(bare)
    if line[:1].isspace() or failure is None:
        return ""
    name = failure[1].rsplit(".", 1)[-1]
    return f"{own(name)}: {own(failure[2])}" if failure[2] else own(name)


def _in_package(path: str) -> str:
    """The path of a module from its package on; of other code nothing but that it is."""
    for root in _ROOTS:
        _, found, rest = path.rpartition(f"/{root}")
        if found:
            return rest if root == _ROOTS[0] else f"{root}{rest}"
    _, found, rest = path.rpartition("/lib/python3")
    return f"python3{rest}" if found else "(other code)"
