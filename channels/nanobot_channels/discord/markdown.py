"""Markdown for Discord's clients: as the model wrote it, except for unsupported features.

Their dialect: https://support.discord.com/hc/en-us/articles/210298617. There are no tables and no
small headings, code has fences of three backticks, and two bars hide the text between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nanobot_channels.common.pieces import pieces
from nanobot_channels.common.tables import blocks
from nanobot_channels.common.text import clean, utf16_units

TEXT_LIMIT = 2000
"""Characters in a message (Discord, Create Message), measured in UTF-16 units, which are never
fewer than Discord's count.
"""
_MADE_ANEW = {"table_open", "fence", "code_block"}
_APART = "\u200b"
# A mention, a channel, a time, a command, an emoji: clients replace these.
_THING = re.compile(
    r"<(?=(?:@[!&]?\d+|#\d+|t:-?\d+(?::\w)?|/[\w -]{1,99}:\d+|id:\w+|a?:\w{1,99}:\d+)>)"
)
_OTHERWISE = re.compile(
    r"(?P<kept>(?<!`)(`{1,20})(?!`)[^`\n]+\2|https?://[^\s<]+)"
    r"|(?P<mark>\|\||(?<=[^\W_])__(?=[^\W_]))|!(?=\[)|(?P<small>^ {0,3}#{4,6}(?=[ \t]))",
    re.MULTILINE,
)
_MARK = re.compile(r"https?://[^\s<]+|[\\*_`~|<\[]|^[ \t]*[#>-]", re.MULTILINE | re.IGNORECASE)


def contents(shown: str, most: int = TEXT_LIMIT) -> list[str]:
    """Discord's Markdown as the contents of messages of at most `most` characters. Nothing visible
    is lost; a blank text has no contents."""
    return list(pieces(shown, most, most, utf16_units))


def shown(text: str) -> str:
    """The text in Discord's Markdown, whatever its length; it mentions nothing."""
    return _THING.sub(f"<{_APART}", "\n".join(_blocks(clean(text)))).strip("\n")


def _blocks(text: str) -> Iterator[str]:
    for source, anew in blocks(text, _MADE_ANEW):
        yield source if anew else _OTHERWISE.sub(_converted, source)


def _converted(match: re.Match[str]) -> str:
    """Code and addresses unchanged, marks that CommonMark does not have with backslashes, no image
    marks, a small heading as one of the third level.
    """
    if match["kept"]:
        return match[0]
    if match["mark"]:
        return "".join(f"\\{char}" for char in match[0])
    return "###" if match["small"] else ""


def escaped(text: str) -> str:
    """Plain words, with a backslash before each character that would be a mark."""
    return _MARK.sub(_with_backslash, text)


def _with_backslash(match: re.Match[str]) -> str:
    mark = match[0]
    return mark if "://" in mark else f"{mark[:-1]}\\{mark[-1]}"
