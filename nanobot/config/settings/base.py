"""What every table of the configuration has in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.config.values import masked

Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
LargeCount: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Duration: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


class Settings(msgspec.Struct, frozen=True):
    """A table of the configuration. Its repr shows no secret and no password within a URL."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, masked(name, getattr(self, name))) for name in self.__struct_fields__]
