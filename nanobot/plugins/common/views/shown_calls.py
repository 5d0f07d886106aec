"""A tool call as people are shown it: all of it, and nothing that can hide or imitate another."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from nanobot.text import pattern
from nanobot.visible import spelled

MOST_SHOWN = 3_000
"""Maximum number of characters of a call that a question shows."""
_MOST_EMPTY = 3
_EMPTY_LINES = pattern(rf"\n{{{_MOST_EMPTY + 2},}}")


def json_shown(value: Any) -> str:
    """A value as JSON in one line, with invisible characters spelled out."""
    return spelled(json.dumps(value, ensure_ascii=False))


def whole_call(tool: str, arguments: str) -> str:
    """The whole call in a form that a person can judge: one argument per line, texts verbatim, and
    nothing that can hide or imitate another argument."""
    return f"{spelled(tool)}\n{arguments_shown(decoded(arguments))}".strip()


def arguments_shown(given: Any) -> str:
    """The arguments of a call, each on separate lines. The lines of a longer text are indented, so
    that none looks like another argument; a text whose ends are invisible is shown as JSON."""
    if not isinstance(given, dict):
        return json_shown(given)
    return "\n".join(_argument(json_shown(name)[1:-1], value) for name, value in given.items())


def _argument(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        return f"{name}: {json_shown(value)}"
    first, *more = spelled_lines(value)
    return "\n    ".join([f"{name}:", first, *more]) if more else f"{name}: {first}"


def spelled_lines(text: str) -> list[str]:
    """The lines of a text, each as `spelled`; many empty ones in a row are shown as their
    number."""
    shown = "\n".join(spelled(line) for line in text.split("\n"))
    return _EMPTY_LINES.sub(lambda gap: f"\n<{len(gap[0]) - 1} empty lines>\n", shown).split("\n")


def shown_call(tool: str, arguments: str) -> str:
    """The call, shortened to fit into a question."""
    text = whole_call(tool, arguments)
    if len(text) > MOST_SHOWN:
        half = MOST_SHOWN // 2
        note = f"[... {len(text) - 2 * half:,} characters are left out here]"
        text = f"{text[:half]}\n{note}\n{text[-half:]}"
    return text


def fenced(text: str) -> str:
    """Wrap a text in a code block that the text itself cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def decoded(arguments: str) -> Any:
    """The arguments as values; the text itself if it is not JSON."""
    try:
        return msgspec.json.decode((arguments.strip() or "{}").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return arguments
