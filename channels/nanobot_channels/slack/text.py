"""Converts people's messages on Slack to plain text
(https://docs.slack.dev/messaging/formatting-message-text).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nanobot_channels.common.text import clean

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_ANGLE = re.compile(r"<([^<>\s][^<>\n]*)>")
_PERSON = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|([^<>]*))?>")
_SPECIAL = {"here": "@here", "channel": "@channel", "everyone": "@everyone"}


def escape(text: str) -> str:
    """The text with `&`, `<` and `>` escaped, so that nothing in it becomes a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The reverse of `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def people_in(text: str) -> set[str]:
    """The ids of all mentioned people whose name is not in the text."""
    return {match[1] for match in _PERSON.finditer(text) if not match[2]}


def mentions(text: str, person: str) -> bool:
    """Whether a person is mentioned outside code."""
    return any(match[1] == person for match in _PERSON.finditer(_CODE.sub("", text)))


def without_mention(text: str, person: str) -> str:
    """The text without mentions of a person outside code; unchanged if nothing else is in it."""
    pieces = []
    for piece, is_code in _by_code(text):
        prose = piece
        if not is_code:
            # White space is searched from the mention, not from each of its own characters.
            mention = rf"<@{re.escape(person)}(?:\|[^<>]*)?>"
            prose = " ".join(_inner(re.split(mention, piece)))
        pieces.append(prose)
    rest = "".join(pieces).strip()
    return rest or text


def _inner(pieces: Sequence[str]) -> Iterator[str]:
    """The pieces without blanks where something was between them."""
    last = len(pieces) - 1
    for number, piece in enumerate(pieces):
        left = piece.lstrip(" \t") if number else piece
        yield left.rstrip(" \t") if number < last else left


def to_plain(text: str, names: Mapping[str, str]) -> str:
    """Mentions become names, links their text with their targets, entities characters.

    `names` are people's names by id; a missing person keeps the id. Bold and the like stay as
    people typed them.
    """
    return clean(unescape(_ANGLE.sub(lambda match: _reference(match[1], names), text)))


def _by_code(text: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for match in _CODE.finditer(text):
        yield text[at : match.start()], False
        yield match[0], True
        at = match.end()
    yield text[at:], False


def _reference(inside: str, names: Mapping[str, str]) -> str:
    target, _, label = inside.partition("|")
    if target.startswith("@"):
        return f"@{escape(names.get(target[1:], '')) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return _special(target[1:], label)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in {target, address}:
        return address
    # Slack makes links of bare domains: <http://example.org|example.org>.
    if re.sub(r"^https?://", "", target) == label:
        return label
    return f"{label} ({target})"


def _special(target: str, label: str) -> str:
    name = target.partition("^")[0]
    if name == "date":
        return label
    if name == "subteam":
        return label or "@group"
    return _SPECIAL.get(name, label or name)
