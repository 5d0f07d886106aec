"""Asks a person in a terminal, one question at a time."""

from __future__ import annotations

import getpass
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nanobot.cli import output


def say(text: str = "") -> None:
    """A line of the dialogue, wrapped between words at the width of the terminal."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        folded = textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        output.say("\n".join(folded))


Check: TypeAlias = Callable[[str], str]
"""Returns why an answer is not acceptable; "" if it is."""


def ask(question: str, default: str = "", check: Check | None = None) -> str:
    """A line of text; Enter alone takes the default. The question is repeated until `check` accepts
    the answer. Raises EOFError at the end of input.
    """
    hint = f" [{default}]" if default else ""
    while True:
        text = input(output.harmless(f"{question}{hint}: ")).strip() or default
        problem = check(text) if check else ""
        if not problem:
            return text
        say(problem)


def ask_secret(question: str, check: Check | None = None) -> str:
    """A line that is not echoed while it is typed; empty for Enter alone. The question is repeated
    as by `ask`.
    """
    while True:
        text = getpass.getpass(output.harmless(f"{question} (not shown): ")).strip()
        problem = check(text) if check and text else ""
        if not problem:
            return text
        say(problem)


def agree(question: str, *, default: bool = True) -> bool:
    """Yes or no."""
    while True:
        answer = ask(f"{question} ({'Y/n' if default else 'y/N'})").lower()
        if answer in ("", "y", "yes", "n", "no"):
            return default if not answer else answer.startswith("y")


def choose(question: str, options: Sequence[str], *, default: int = 0) -> int:
    """One of the options, by its number; Enter alone takes `default`, an index. Returns the index
    of the choice.
    """
    say(question)
    for number, option in enumerate(options, 1):
        say(f"  {number:>{len(str(len(options)))}}. {option}")
    while True:
        answer = ask("Number", f"{default + 1}")
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return int(answer) - 1
        say(f"A number from 1 to {len(options)}, please.")
