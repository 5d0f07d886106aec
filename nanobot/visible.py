"""Text as people can judge it: invisible characters are spelled out.

A person who is asked to approve a call must see all of it. Characters that have no width, change
the direction of writing, look like a space or pile up on one letter are shown as code points, such
as <U+202E>, and long gaps by their length. So no two different texts look the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from nanobot.text import pattern

_WITHOUT_INK = frozenset({"Cf", "Cc", "Zl", "Zp", "Zs"})
_UNSEEN = _WITHOUT_INK | {"Co", "Cs", "Cn"}
# Letters and marks that are drawn as nothing or as a gap, whatever their category.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159"
)
_VARIANTS = pattern("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI_LOOK = "\ufe0f"
_MOST_MARKS = 3
"""Maximum marks on one letter; no human writing has more."""
_LONGEST_GAP = 40
_GAP = pattern(rf" {{{_LONGEST_GAP + 1},}}")
_FORGED = pattern(r"<(?=U\+[0-9A-F]{4,6}>|\d+ (?:spaces|empty lines)>)")
_PLAIN = pattern(r"[\t\x20-\x7e]*")
_SPELLED = pattern(r"<U\+([0-9A-F]{4,5}|10[0-9A-F]{4})>|<([1-9]\d{0,5}) spaces>")


def blank(text: str) -> bool:
    """Whether nothing of it can be seen. Platforms refuse such a message as an empty one."""
    return all(
        unicodedata.category(char) in _WITHOUT_INK or char in _BLANK or _VARIANTS.match(char)
        for char in text
    )


def spelled(text: str) -> str:
    """One line that shows all of its characters. Tabs stay."""
    shown = _FORGED.sub("<U+003C>", text)
    if not _PLAIN.fullmatch(shown):
        shown = "".join(_shown(shown))
    return _GAP.sub(lambda gap: f"<{len(gap[0])} spaces>", shown)


def unspelled(text: str) -> str:
    """The text that `spelled` shows so."""
    return _SPELLED.sub(_original, text)


def _original(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else " " * int(found[2])


def _shown(text: str) -> Iterator[str]:
    marks, before = _MOST_MARKS, ""
    for char in text:
        kind = unicodedata.category(char)
        if kind[0] == "M":
            marks += 1
        else:
            marks = _MOST_MARKS if char in " \t" else 0
        look = char == _EMOJI_LOOK and before == "So"
        hidden = (kind in _UNSEEN and char not in " \t") or char in _BLANK
        if not look and (hidden or marks > _MOST_MARKS or _VARIANTS.match(char)):
            yield f"<U+{ord(char):04X}>"
        else:
            yield char
        before = kind
