"""Reads the keys of a `[channels.NAME]` table, one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from nanobot.errors import ConfigError

_Number = TypeVar("_Number", int, float)


class Table:
    """One table. Every method raises ConfigError for an invalid value; the error names the key and
    the remedy.
    """

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._name = name
        self._settings = settings

    def token(self, key: str, pattern: str, source: str, *, odd: str = "is not a bot token") -> str:
        """A secret of this format, stripped of blanks. `source`: where people get one."""
        token = self._settings.get(key)
        if not isinstance(token, str) or not re.fullmatch(pattern, token.strip()):
            raise self.wrong(key, f"{odd if token else 'is missing'}: {source}")
        return token.strip()

    def url(self, key: str, usual: str, *, scheme: str = "https?") -> str:
        """A URL without a trailing slash; `usual` if it is not set."""
        value = self._settings.get(key, usual)
        pattern = rf"{scheme}://[^\s/{{}}?#]+[^\s{{}}#]*"
        if value == usual:
            return usual
        if not isinstance(value, str) or not re.fullmatch(pattern, value.strip()):
            kind = scheme.replace("s?", "(s)")
            raise self.wrong(key, f"is not a {kind} URL: remove it for {usual or 'the usual one'}")
        return value.strip().rstrip("/")

    def flag(self, key: str, *, usual: bool, why: str = "") -> bool:
        value = self._settings.get(key, usual)
        if not isinstance(value, bool):
            raise self.wrong(key, f"is {value!r}: use true or false{why}")
        return value

    def number(self, key: str, usual: _Number, most: int) -> _Number:
        """A number from 0 to `most`, of the type of the default."""
        value = self._settings.get(key, usual)
        kinds = (int, type(usual))
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value <= most:
            raise self.wrong(key, f"is {value!r}: use a number from 0 to {most}")
        return type(usual)(value)

    def choice(self, key: str, usual: str, others: Mapping[str, str]) -> str:
        """One of some words, given with their meanings."""
        value = self._settings.get(key, usual)
        if not isinstance(value, str) or value not in {usual, *others}:
            words = ", ".join(f'"{word}" ({meaning})' for word, meaning in others.items())
            raise self.wrong(key, f'is {value!r}: use "{usual}", {words}')
        return value

    def text(self, key: str, usual: str, pattern: str, why: str) -> str:
        """A text of this format, or the default."""
        value = self._settings.get(key, usual)
        if not isinstance(value, str) or (value != usual and not re.fullmatch(pattern, value)):
            raise self.wrong(key, f"is {value!r}: {why}")
        return value

    def texts(self, key: str, usual: Sequence[str], most: int) -> tuple[str, ...]:
        """A list of texts that are not blank."""
        value = self._settings.get(key, list(usual))
        listed = value if isinstance(value, list) else [None]
        if len(listed) > most or not all(
            isinstance(entry, str) and entry.strip() for entry in listed
        ):
            raise self.wrong(key, f"must be a list of at most {most} texts")
        return tuple(listed)

    def wrong(self, key: str, why: str) -> ConfigError:
        """The error for a key, to be raised."""
        return ConfigError(f"channels.{self._name}.{key} {why}")
