"""What every table of the configuration has in common."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from nanobot.config.values import masked
from nanobot.errors import ConfigError
from nanobot.text import pattern

Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
LargeCount: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Duration: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


_NOT_IN_URLS = pattern(r"[\x00-\x20\x7f\ud800-\udfff]")


class Unfit(ConfigError, ValueError):
    """Keys of a table that do not go together: the one to change (empty: the table itself), and
    what it must be. A ValueError, because msgspec asks for one."""

    def __init__(self, key: str, expected: str) -> None:
        super().__init__(f"{key} must be {expected}")
        self.key = key
        self.expected = expected


def is_url(text: str) -> bool:
    """Whether a text is meant as the address of something on the web."""
    return text.startswith(("http://", "https://"))


def is_usable_url(text: str) -> bool:
    """Whether a text is such an address, with a host and a port that can be."""
    if not is_url(text) or _NOT_IN_URLS.search(text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return False


URL = "an http:// or https:// URL"


class Settings(msgspec.Struct, frozen=True):
    """A table of the configuration. Its repr shows no secret and no password within a URL. What
    its keys must be together it says itself: `__post_init__` raises Unfit."""

    part_of: ClassVar[str] = ""
    """The table of the core that has its keys, where a plugin `shares` that."""

    @classmethod
    def within(cls, table: Any) -> Self:
        """Its keys in the table of the core that has them."""
        keys = [key for key in cls.__struct_fields__ if hasattr(table, key)]
        return cls(**{key: getattr(table, key) for key in keys})

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        """The keys that are written in a table of that name, with those that follow from them."""
        return {**values}

    @property
    def own_channels(self) -> tuple[str, ...]:
        """The channels that its plugin has with these settings, without a table in `channels`."""
        return ()

    def shown_value(self, key: str) -> Any:
        """The value of a key, without secrets that the names of keys do not tell of."""
        return getattr(self, key)

    def hidden_values(self) -> set[str]:
        """The secrets that the names of keys do not tell of."""
        return set()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, masked(name, getattr(self, name))) for name in self.__struct_fields__]


def about(
    text: str, *, unit: str = "", live: bool = False, is_model: bool = False, named: bool = False
) -> Meta:
    """What people are told of a key: a sentence, and the unit of its value. `live`: a change of it
    takes effect at once, else with the next start. `is_model`: its value names a model, or several.
    `named`: people, and not a platform, choose the names of the tables below it."""
    more: dict[str, object] = {"applies": "now" if live else "restart"}
    more |= {"unit": unit} if unit else {}
    more |= {"is_model": True} if is_model else {}
    more |= {"named": True} if named else {}
    return Meta(description=text, extra_json_schema=more)
