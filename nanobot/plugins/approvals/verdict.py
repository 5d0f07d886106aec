"""A plain yes or no, as people answer when they are asked whether something may be done."""

from __future__ import annotations

from nanobot.text import pattern

_WORDS = pattern(
    r"(?P<approve>y|yes|yeah|yep|ok|okay|sure|approved?|allow"
    r"|是的?|好的?|行|可以|同意|批准|允许|没问题|👍|✅)"
    r"|(?P<deny>n|no|nope|deny|denied|reject|refuse|否|不|不是|不行|不可以|不同意|拒绝|👎|❌)"
)
# How an emoji looks (variation selector, skin tone) is not what it says.
_LOOKS = pattern("[\ufe0f\U0001f3fb-\U0001f3ff]")


_EMOJI = pattern(r"(?P<approve>[👍✅✔☑])|(?P<deny>[👎❌✖])")


_NUMBERED = pattern(
    r"(?P<word>[^\W\d]+)[ ,:]*#?(?P<after>\d{1,9})|#?(?P<before>\d{1,9})[ ,:.]*(?P<then>[^\W\d]+)"
)


def numbered(text: str) -> tuple[str, int] | None:
    """The operation and the number of the question in "yes 12" or "12: no"."""
    match = _NUMBERED.fullmatch(text.strip().strip(".!。！"))
    if match is None:
        return None
    name = verdict(match["word"] or match["then"])
    return (name, int(match["after"] or match["before"])) if name else None


def verdict(text: str) -> str:
    """The operation that the text means, `approve` or `deny`; empty for other text."""
    word = _WORDS.fullmatch(_LOOKS.sub("", text).strip().strip(".!。！").casefold())
    return (word and word.lastgroup) or ""


def reaction(emoji: str) -> str:
    """The operation that an emoji on a question means; empty for other emoji."""
    sign = _EMOJI.fullmatch(_LOOKS.sub("", emoji))
    return (sign and sign.lastgroup) or ""
