"""Checks of typed providers, models, URLs and keys."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from nanobot.config.settings.base import URL, is_url

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f-\x9f]{1,200}")
_KEY = re.compile(r"[!-~]{1,8192}")
_HOST = re.compile(r"[\w.:-]+\.[\w.:-]+|[\w.-]+:\d+|localhost")

_HOST_AND_PORT = re.compile(r"(localhost|[\w.-]+(?=:\d)|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/\S*)?$")


def wrong_provider(name: str) -> str:
    """Why it is not a provider's name; "" if it is one."""
    if _NAME.fullmatch(name):
        return ""
    if not name:
        return "The name of a provider is missing."
    if _looks_like_an_address(name):
        return f"{name[:60]!r} is an address. Give the provider a name: letters, digits, - and _."
    return f"{name[:60]!r} is not a name of a provider: letters, digits, - and _."


def wrong_model(name: str) -> str:
    """Why it is not a model's name; "" if it may be one."""
    if not name:
        return "The name of the model is missing."
    if is_url(name):
        return f"{name[:60]!r} is an address, not the name of a model."
    return "" if _MODEL.fullmatch(name) else "The name of a model is one word without blanks."


def wrong_label(label: str) -> str:
    """Why it is not PROVIDER/MODEL; "" if it may be."""
    if _looks_like_an_address(label.partition("/")[0]):
        return (
            f"{label[:60]!r} looks like an address. Put http:// or https:// before it, or write "
            "PROVIDER/MODEL, as in openai/gpt-6-luna."
        )
    name, slash, model = label.partition("/")
    if not slash:
        return f"{label[:60]!r} is not PROVIDER/MODEL, as in openai/gpt-6-luna."
    return wrong_provider(name) or wrong_model(model)


def completed_address(text: str) -> str:
    """A URL with its scheme, which people omit in HOST:PORT: http if the host is on this machine or
    network, else https. Any other text is unchanged."""
    match = _HOST_AND_PORT.match(text)
    if match is None:
        return text
    return f"{'http' if _is_near(match[1]) else 'https'}://{text}"


def _is_near(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))


def wrong_address(text: str) -> str:
    """Why it is not a server's URL; "" if it may be one."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if is_url(text) and host and _MODEL.fullmatch(text):
        return ""
    if not is_url(text) and _HOST.match(text):
        return f"{text[:80]!r} must be {URL}: put http:// or https:// before it."
    return f"{text[:80]!r} must be {URL}, such as http://127.0.0.1:8000/v1."


def wrong_key(text: str) -> str:
    """Why it is not a key; "" if it may be one."""
    return "" if _KEY.fullmatch(text) else "A key has no blanks and only ASCII characters."


def _looks_like_an_address(text: str) -> bool:
    return is_url(text) or text in ("http:", "https:") or bool(_HOST.fullmatch(text))
