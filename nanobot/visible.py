"""Text and hosts as people can judge them: invisible characters are spelled out.

A person who is asked to approve a call must see all of it. Characters that have no width, change
the direction of writing, look like a space or pile up on one letter are shown as code points, such
as <U+202E>, and long gaps by their length. So no two different texts look the same.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

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
_LONGEST_GAP, _MOST_EMPTY = 40, 3
_GAP = pattern(rf" {{{_LONGEST_GAP + 1},}}")
_FORGED = pattern(r"<(?=U\+[0-9A-F]{4,6}>|\d+ (?:spaces|empty lines)>)")
_EMPTY_LINES = pattern(rf"\n{{{_MOST_EMPTY + 2},}}")
_PLAIN = pattern(r"[\t\x20-\x7e]*")

_URL = pattern(r"\b[a-z][a-z0-9+.-]*:[/\\]{2}[^\s'\"<>`|]+", re.IGNORECASE)
_MOST_HOSTS = 8
_ROOM = 60
_LABELS = 2
# Below these, in countries, anyone can register names.
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "or", "org"})
_COUNTRY = 2


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


def spelled_lines(text: str) -> list[str]:
    """The lines of a text, each as `spelled`; many empty ones in a row are shown as
    their number."""
    shown = "\n".join(spelled(line) for line in text.split("\n"))
    return _EMPTY_LINES.sub(lambda gap: f"\n<{len(gap[0]) - 1} empty lines>\n", shown).split("\n")


def json_shown(value: Any) -> str:
    """A value as JSON in one line, with invisible characters spelled out."""
    return spelled(json.dumps(value, ensure_ascii=False))


def arguments_shown(given: Any) -> str:
    """The arguments of a call, each on separate lines. The lines of a longer text are indented, so
    that none looks like another argument; a text whose ends are invisible is shown as JSON."""
    if not isinstance(given, dict):
        return json_shown(given)
    return "\n".join(_argument(json_shown(name)[1:-1], value) for name, value in given.items())


def host_end(host: str) -> str:
    """The end of a host name, which shows its owner: `evil.example` of
    `login.paypal.com.evil.example`. A numeric address is shown whole."""
    name = host.rstrip(".").lower()
    try:
        return str(ip_address(name.strip("[]")))
    except ValueError:
        pass
    labels = name.split(".")
    count = _LABELS
    if len(labels) > count and len(labels[-1]) == _COUNTRY and labels[-2] in _SECOND_LEVEL:
        count += 1
    end = _in_ascii(".".join(labels[-count:]))
    return end if len(end) <= _ROOM else f"…{end[-_ROOM:]}"


def host_shown(host: str) -> str:
    """A host by its end, then the whole host if that is longer, then in Unicode if it has letters
    that look like others: `xn--mller-kva.de (reads as müller.de)`."""
    whole, end = _in_ascii(host.rstrip(".").lower()), host_end(host)
    cut = whole if len(whole) <= 2 * _ROOM else f"{whole[:_ROOM]}…{whole[-_ROOM:]}"
    more = [spelled(cut)] if whole.strip("[]") != end else []
    if (reading := _in_letters(whole)) != whole:
        more.append(f"reads as {spelled(reading[-_ROOM:])}")
    return f"{spelled(end)} ({', '.join(more)})" if more else spelled(end)


def hosts_in(value: Any) -> list[str]:
    """The hosts of all URLs in the arguments of a call, in order, with a maximum. As in browsers, a
    backslash counts as a slash."""
    found: dict[str, None] = {}
    for text in texts_in(value):
        for match in _URL.finditer(text):
            try:
                host = urlsplit(match[0].replace("\\", "/")).hostname
            except ValueError:
                continue
            if host:
                found.setdefault(host)
            if len(found) >= _MOST_HOSTS:
                return list(found)
    return list(found)


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


def _argument(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        return f"{name}: {json_shown(value)}"
    first, *more = spelled_lines(value)
    return "\n    ".join([f"{name}:", first, *more]) if more else f"{name}: {first}"


def texts_in(value: Any) -> Iterator[str]:
    """Each text within a value that is JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def _in_ascii(host: str) -> str:
    """The name as DNS looks it up. A label that no codec accepts is encoded without one."""
    return ".".join(map(_ascii_label, host.split(".")))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return label.encode("idna").decode()
    except UnicodeError:
        return "xn--" + label.encode("punycode", "replace").decode("ascii", "replace")


def _in_letters(host: str) -> str:
    return ".".join(map(_letters_label, host.split(".")))


def _letters_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
