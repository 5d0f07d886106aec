"""Plain aligned text for a terminal: tables and pages that fit its width."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from nanobot.operations.operation import Operation
from nanobot.operations.rendering import Now, as_text, grid, has_fields, heading, pairs
from nanobot.plugins.common.commands.output import Line
from nanobot.plugins.common.widths import columns, cut, wrapped

_GAP = 2
_NARROWEST = 6
# Values that people copy into the next command are cut only if nothing else is left to cut.
_COPIED = frozenset({"id", "key", "session_key", "run", "address", "head", "name", "usage", "url"})
_PLACES = frozenset({"session_key", "address", "run"})
# Columns that are still useful when shortened: they keep this width while others can be cut.
_READABLE, _TELLING = 14, 9
_BAD = frozenset({"failed", "dead"})


def shown(operation: Operation, result: Any, zone: str) -> Sequence[str | Line]:
    """A result for people: in the operation's own format, or as a table or a page. These fit a
    terminal, and are complete in a pipe.
    """
    now = Now(time.time(), zone)
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None
    if operation.text is not as_text or not result or not has_fields(result):
        return [operation.rendered(result, now)]
    if isinstance(result, list | tuple):
        return table(result, now, width=width)
    return [page(result, now, width=width)]


def table(rows: Sequence[Any], now: Now, *, width: int | None) -> list[Line]:
    """The rows under their headings, no line wider than `width`; None: no cuts."""
    if not rows:
        return [Line("Nothing found.", "")]
    fields, cells = grid(rows, now, whole=width is None)
    heads = [heading(field) for field in fields]
    widths = [max(columns(line[n]) for line in [heads, *cells]) for n in range(len(fields))]
    if width is not None:
        _fit(widths, fields, width)
    body = [Line(_line(row, widths), "red" if _BAD & set(row) else "") for row in cells]
    return [Line(_line(heads, widths), "bold"), *body]


def page(result: Any, now: Now, *, width: int | None) -> str:
    """One record, field by field and complete: long values wrap to the next line, unless there is
    no width.
    """
    rows = pairs(result, now)
    if width is None:
        return "\n".join(f"{name}: {value}" for name, value in rows)
    room = max((len(name) for name, _ in rows), default=0)
    indent = "\n" + " " * (room + _GAP)
    lines = ((name, wrapped(value, max(width - room - _GAP, _READABLE))) for name, value in rows)
    return "\n".join(f"{name:<{room}}  {indent.join(value)}" for name, value in lines)


def _fit(widths: list[int], fields: Sequence[str], width: int) -> None:
    """Narrow the widest columns until all fit: first those that people do not copy from, then those
    that can still be distinguished when cut.
    """
    others = frozenset(fields) - _COPIED
    steps = (
        (others, _READABLE),
        (_PLACES, _TELLING),
        (others, _NARROWEST),
        (_PLACES, _NARROWEST),
        (frozenset(fields), _NARROWEST),
    )
    for cuttable, floor in steps:
        while sum(widths) + _GAP * (len(widths) - 1) > width:
            wide = [n for n, w in enumerate(widths) if w > floor and fields[n] in cuttable]
            if not wide:
                break
            widths[max(wide, key=lambda n: widths[n])] -= 1


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    shown = []
    for text, width in zip(row, widths, strict=True):
        fitting = cut(text, width)
        shown.append(fitting + " " * (width - columns(fitting)))
    return (" " * _GAP).join(shown).rstrip()
