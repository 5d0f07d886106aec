"""Asks a person in a terminal, one question at a time."""

from __future__ import annotations

import getpass
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from nanobot.cli import language
from nanobot.cli.output import harmless
from nanobot.errors import UsageError
from nanobot.plugins.common.chinese_lines import folded
from nanobot.plugins.common.commands import output
from nanobot.text import Sentence


def say(text: Sentence = "") -> None:
    """A line of the dialogue, wrapped between words at the width of the terminal."""
    text = said(text)
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        output.say("\n".join(_folded(line, width, indent)))


def _folded(line: str, width: int, indent: str) -> list[str]:
    """The line between words; Chinese, whose characters are wide and need no blanks, anywhere."""
    if line.isascii():
        return textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return [f"{indent}{part}" for part in folded(line.strip(), width - len(indent))]


def said(text: Sentence) -> str:
    """The text in the language of the terminal."""
    core = text.strip()
    if not core:
        return text
    before, _, after = text.partition(core)
    return f"{before}{language.said(core)}{after}"


Check: TypeAlias = Callable[[str], str]
"""Returns why an answer is not acceptable; "" if it is."""

_YES, _NO = ("y", "yes", "是", "是的", "好"), ("n", "no", "否", "不", "不是")


def ask(question: Sentence, default: str = "", check: Check | None = None) -> str:
    """A line of text; Enter alone takes the default. The question is repeated until `check` accepts
    the answer. Raises EOFError at the end of input.
    """
    hint = f" [{default}]" if default else ""
    while True:
        text = _typed(input, harmless(f"{said(question)}{hint}: ")) or default
        problem = check(text) if check else ""
        if not problem:
            return text
        say(problem)


def ask_secret(question: Sentence, check: Check | None = None) -> str:
    """A line that is not echoed while it is typed; empty for Enter alone. The question is repeated
    as by `ask`.
    """
    while True:
        hidden = said("(not shown)")
        text = _typed(getpass.getpass, harmless(f"{said(question)} {hidden}: "))
        problem = check(text) if check and text else ""
        if not problem:
            return text
        say(problem)


def _typed(read: Callable[[str], str], prompt: str) -> str:
    """A line, as UTF-8: typed again until it is."""
    while True:
        with suppress(UnicodeError):
            text = read(prompt)
            text.encode()  # a byte that was not decoded is half a character
            return text.strip()
        say("That is not UTF-8. Type it again, please.")


def agree(question: Sentence, *, default: bool = True) -> bool:
    """Yes or no."""
    while True:
        answer = ask(f"{said(question)} ({'Y/n' if default else 'y/N'})").lower()
        if answer in ("", *_YES, *_NO):
            return default if not answer else answer in _YES


def choose(question: Sentence, options: Sequence[Sentence], *, default: int = 0) -> int:
    """One of the options, by its number; Enter alone takes `default`, an index. Returns the index
    of the choice.
    """
    say(question)
    for number, option in enumerate(options, 1):
        say(f"  {number:>{len(str(len(options)))}}. {said(option)}")
    while True:
        answer = ask("Number", f"{default + 1}")
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return int(answer) - 1
        say(f"A number from 1 to {len(options)}, please.")


def confirmed(name: str, question: str) -> None:
    """Ask a person. Raises UsageError without a terminal, and Abort when they say no."""
    import typer  # noqa: PLC0415 - a question of one command line

    if not sys.stdin.isatty():
        raise UsageError(f"{name} needs confirmation: add --yes")
    try:
        typer.confirm(question, abort=True)
    except UnicodeDecodeError:
        raise UsageError("that is not UTF-8") from None
