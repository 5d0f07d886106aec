"""Hosts as people can judge them: by the end of the name, which shows its owner."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from nanobot.plugins.common.policy.evidence import texts_in
from nanobot.text import pattern
from nanobot.visible import spelled

_URL = pattern(r"\b[a-z][a-z0-9+.-]*:[/\\]{2}[^\s'\"<>`|]+", re.IGNORECASE)
_MOST_HOSTS = 8
_ROOM = 60
_LABELS = 2
# Below these, in countries, anyone can register names.
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "or", "org"})
_COUNTRY = 2


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
