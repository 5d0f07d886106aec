"""Asks a person in a terminal, one question at a time."""

from __future__ import annotations

import getpass
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nanobot.cli import output
from nanobot.text import Sentence


def say(text: Sentence = "") -> None:
    """A line of the dialogue, wrapped between words at the width of the terminal."""
    text = _said(text)
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


def _said(text: Sentence) -> str:
    """The text in the language of the terminal."""
    # Loaded by a question: most commands ask none.
    from nanobot.cli.language import terminal_language  # noqa: PLC0415
    from nanobot.texts import translated  # noqa: PLC0415

    core = text.strip()
    if not core:
        return text
    before, _, after = text.partition(core)
    return f"{before}{translated(core, terminal_language(), within=True)}{after}"


Check: TypeAlias = Callable[[str], str]
"""Returns why an answer is not acceptable; "" if it is."""


def ask(question: Sentence, default: str = "", check: Check | None = None) -> str:
    """A line of text; Enter alone takes the default. The question is repeated until `check` accepts
    the answer. Raises EOFError at the end of input.
    """
    hint = f" [{default}]" if default else ""
    while True:
        text = input(output.harmless(f"{_said(question)}{hint}: ")).strip() or default
        problem = check(text) if check else ""
        if not problem:
            return text
        say(problem)


def ask_secret(question: Sentence, check: Check | None = None) -> str:
    """A line that is not echoed while it is typed; empty for Enter alone. The question is repeated
    as by `ask`.
    """
    while True:
        hidden = _said("(not shown)")
        text = getpass.getpass(output.harmless(f"{_said(question)} {hidden}: ")).strip()
        problem = check(text) if check and text else ""
        if not problem:
            return text
        say(problem)


def agree(question: Sentence, *, default: bool = True) -> bool:
    """Yes or no."""
    while True:
        answer = ask(f"{_said(question)} ({'Y/n' if default else 'y/N'})").lower()
        if answer in ("", "y", "yes", "n", "no"):
            return default if not answer else answer.startswith("y")


def choose(question: Sentence, options: Sequence[Sentence], *, default: int = 0) -> int:
    """One of the options, by its number; Enter alone takes `default`, an index. Returns the index
    of the choice.
    """
    say(question)
    for number, option in enumerate(options, 1):
        say(f"  {number:>{len(str(len(options)))}}. {_said(option)}")
    while True:
        answer = ask("Number", f"{default + 1}")
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return int(answer) - 1
        say(f"A number from 1 to {len(options)}, please.")
