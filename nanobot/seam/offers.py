"""The objects that plugins get: the parameter types of each function request them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from types import MappingProxyType, NoneType
from typing import Any, NewType, Protocol, TypeVar, cast, get_args, get_type_hints

import msgspec

from nanobot.errors import PluginBroken
from nanobot.seam.installed import FoundPlugin
from nanobot.text import Sentence

T = TypeVar("T")
Things = Mapping[Any, Any]
NOTHING: Things = MappingProxyType({})
Environment = NewType("Environment", Mapping[str, str])
"""The environment of the process that serves."""


class Restart(msgspec.Struct, frozen=True):
    """Drains and ends this gateway, and starts it again; offered where it can."""

    begin: Callable[[], None]


class Contributions(Protocol):
    """What the plugins that are on bring, for one that shows it to people."""

    @property
    def on(self) -> Mapping[str, FoundPlugin]:
        """Those plugins, by name."""

    @property
    def off(self) -> Mapping[str, Sentence]:
        """Why each other one is off."""

    @property
    def failures(self) -> Mapping[str, Mapping[str, str]]:
        """Why which field of a plugin failed."""

    def each(self, field: str, use: Callable[[FoundPlugin, Any], T]) -> list[T]:
        """Call the function in that field of each, and pass its result to `use`, which raises
        PluginBroken for an invalid one. Such a plugin is named, and the others are used."""

    def call(self, found: FoundPlugin, field: str, more: Things = NOTHING) -> Any:
        """The result of the function in a field, which is offered `more` in addition. Raises any
        error of the function."""

    def failing(self, found: FoundPlugin, field: str) -> AbstractContextManager[None]:
        """Catch a failure while inside, and name the plugin."""


class Offers:
    """The available objects, by type."""

    def __init__(self, things: Things | None = None) -> None:
        self._things: dict[Any, Any] = dict(things or {})

    def add(self, things: Things) -> None:
        """Offer these too."""
        self._things.update(things)

    def with_these(self, things: Things) -> Offers:
        """A copy in which these take the place of others of their types."""
        return Offers({**self._things, **things})

    def add_by_type(self, *things: object) -> None:
        """Offer each of these by its own type."""
        self.add({type(thing): thing for thing in things})

    def has(self, kind: Any) -> bool:
        """Whether something of that type is offered."""
        return kind in self._things

    def get(self, kind: type[T]) -> T:
        """The object of that type. Raises PluginBroken if there is none."""
        if kind not in self._things:
            raise PluginBroken(f"it asks for {_named(kind)}, which is not offered here")
        return cast("T", self._things[kind])

    def find(self, kind: Any) -> Any:
        """The object of that type; None if there is none."""
        return self._things.get(kind)

    def call(self, function: Callable[..., Any], own: Things) -> Any:
        """Call a function with the objects its parameters request, from `own` or the offered ones.
        If none fits, a parameter keeps its default, as in `thing: Thing | None = None`. Raises
        PluginBroken."""
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        for parameter, kind in _asked(function):
            known = own if kind in own else self._things
            if kind not in known and parameter.default is parameter.empty:
                raise PluginBroken(
                    f"its parameter {parameter.name} asks for {_named(kind)}, which is not "
                    "offered here"
                )
            given = known.get(kind, parameter.default)
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = given
            else:
                arguments.append(given)
        return function(*arguments, **named)


@lru_cache(maxsize=1_000)
def _asked(function: Callable[..., Any]) -> tuple[tuple[inspect.Parameter, Any], ...]:
    """The parameters of a function that request something, each with its type."""
    hints = get_type_hints(
        inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
    )
    return tuple(
        (parameter, _type_in(hints.get(parameter.name, parameter.annotation)))
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    )


def _type_in(hint: Any) -> Any:
    """The type in `Thing | None`; any other type as it is."""
    types = get_args(hint)
    others = [each for each in types if each is not NoneType]
    return others[0] if NoneType in types and len(others) == 1 else hint


def _named(kind: Any) -> str:
    return (
        "nothing by a type"
        if kind is inspect.Parameter.empty
        else getattr(kind, "__name__", str(kind))
    )
