"""Help of the command line in the language of the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from nanobot.cli.language import said
from nanobot.plugins.common.chinese_lines import folded

_EXTRA = re.compile(r"  \[([^\[\]]*)\]$")
_AS_IT_IS = "\b\n"
"""Before a paragraph that is not wrapped again."""
_FIRST_COLUMN = 30


def translating(formatter: Any) -> Any:
    """A kind of formatter of help that translates texts, and wraps them by the columns that they
    take."""

    class TranslatedFormatter(formatter):  # type: ignore[misc]
        """See above."""

        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            """The usage of a command."""
            super().write_usage(prog, args, f"{said(prefix or 'Usage:')} ")

        def write_heading(self, heading: str) -> None:
            """The title of a section."""
            super().write_heading(said(heading))

        def write_text(self, text: str) -> None:
            """Paragraphs."""
            width = self.width - self.current_indent
            ours = (said(" ".join(each.split())) for each in text.split("\n\n"))
            super().write_text("\n\n".join(_AS_IT_IS + _wrapped(each, width) for each in ours))

        def write_dl(self, rows: Sequence[tuple[str, str]], *args: Any, **more: Any) -> None:
            """Names with their explanations."""
            widest = max((len(name) for name, _ in rows), default=0)
            width = max(self.width - self.current_indent - min(widest, _FIRST_COLUMN) - 2, 10)
            ours = [
                (name, _AS_IT_IS + _wrapped(_explained(text), width) if text else "")
                for name, text in rows
            ]
            super().write_dl(ours, *args, **more)

    return TranslatedFormatter


def _explained(text: str) -> str:
    extra = _EXTRA.search(text)
    if extra is None:
        return said(text)
    return f"{said(text[: extra.start()])}  [{said(extra[1])}]"


def _wrapped(text: str, width: int) -> str:
    return "\n".join(folded(text, width))
