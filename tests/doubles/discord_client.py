"""What a Discord client shows of a message: its Markdown, read by the rules its parser is known by
(observed; Discord documents the look and not the grammar)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_Rule = tuple[re.Pattern[str], Callable[["Reader", "re.Match[str]"], None], bool]


@dataclass(frozen=True)
class Styled:
    """A stretch of text as it is seen. `value` is a link's target or a code block's language."""

    style: str
    text: str
    value: str = ""


class Reader:
    """Reads a message; `text` is what is seen, `styles` how."""

    def __init__(self, source: str) -> None:
        self.text = ""
        self.styles: list[Styled] = []
        self._read(source)

    def _read(self, source: str) -> None:
        before = "\n"
        while source:
            for pattern, handle, only_at_line_start in _RULES:
                match = pattern.match(source)
                if match and match[0] and (before == "\n" or not only_at_line_start):
                    handle(self, match)
                    before = match[0][-1]
                    source = source[match.end() :]
                    break

    def show(self, match: re.Match[str]) -> None:
        self.text += match[1]

    def styled(self, style: str, source: str, value: str = "", *, raw: bool = False) -> None:
        start = len(self.text)
        if raw:
            self.text += source
        else:
            self._read(source)
        self.styles.append(Styled(style, self.text[start:], value))


def _marks(style: str) -> Callable[[Reader, re.Match[str]], None]:
    return lambda reader, match: reader.styled(style, match[1])


def _quote(reader: Reader, match: re.Match[str]) -> None:
    lines = re.sub(r"^> ?", "", match[0], flags=re.MULTILINE)
    reader.styled("quote", lines.removesuffix("\n"))
    reader.text += "\n" if lines.endswith("\n") else ""


def _code(reader: Reader, match: re.Match[str]) -> None:
    stripped = re.sub(r"^ (?= *`)|(?<=`) $", "", match[2])
    reader.styled("code", stripped, raw=True)


def _fence(reader: Reader, match: re.Match[str]) -> None:
    reader.styled("pre", match[2], match[1] or "", raw=True)


def _link(reader: Reader, match: re.Match[str]) -> None:
    reader.styled("link", match[1], match[2])


def _url(reader: Reader, match: re.Match[str]) -> None:
    reader.styled("url", match[1], match[1], raw=True)


def _rule(
    pattern: str,
    handle: Callable[[Reader, re.Match[str]], None],
    *,
    only_at_line_start: bool = False,
) -> _Rule:
    return re.compile(pattern, re.IGNORECASE), handle, only_at_line_start


_RULES: list[_Rule] = [
    _rule(r"(?:> [^\n]*(?:\n|\Z))+", _quote, only_at_line_start=True),
    _rule(r">>> ([\s\S]*)", _marks("quote"), only_at_line_start=True),
    _rule(r"[ ]*#{1,3} +([^\n]*)", _marks("heading"), only_at_line_start=True),
    _rule(r"[ ]*-# +([^\n]*)", _marks("small"), only_at_line_start=True),
    _rule(r"[ ]*[-*] +([^\n]*)", _marks("item"), only_at_line_start=True),
    _rule(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", _fence),
    _rule(r"(`+)([\s\S]*?[^`])\1(?!`)", _code),
    _rule(r"\\([^0-9A-Za-z\s])", Reader.show),
    _rule(r"<(https?://[^ >]+)>", _url),
    _rule(r"(https?://[^\s<]+[^<.,:;\"'\]\s])", _url),
    _rule(r"<(@!?|@&|#|a?:\w+:|t:|/[^>]*:|id:)[\w:]*>", _marks("mention")),
    _rule(r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\(\s*<?((?:[^\s\\)]|\\.)*?)>?\s*\)", _link),
    _rule(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)", _marks("bold")),
    _rule(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)", _marks("underline")),
    _rule(
        r"\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\\*\s]|\*\*)|[^\s*\\])+?)\*(?!\*)",
        _marks("italic"),
    ),
    _rule(r"\b_((?:__|\\[\s\S]|[^\\_])+?)_\b", _marks("italic")),
    _rule(r"~~([\s\S]+?)~~(?!_)", _marks("strike")),
    _rule(r"\|\|([\s\S]+?)\|\|", _marks("spoiler")),
    _rule(r"(\n)", Reader.show),
    _rule(r"([\s\S]+?)(?=[^0-9A-Za-z\s\u00c0-\uffff]|\n|https?:|\Z)", Reader.show),
]
