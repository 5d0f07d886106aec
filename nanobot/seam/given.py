"""Checks of what functions of plugins give, which may be anything: they raise PluginBroken. And
what becomes of a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from nanobot.boundary import boundary
from nanobot.errors import NanobotError, PluginBroken
from nanobot.promised import promised
from nanobot.text import Sentence

T = TypeVar("T")


def of_kind(given: object, kind: type[T]) -> T:
    """The thing itself, of that type."""
    if not isinstance(given, kind):
        raise PluginBroken(f"it gives a {type(given).__name__}, not a {named(kind)}")
    return given


def listed(given: Any, kind: type[T]) -> list[T]:
    """A list of that type: one thing, several, or None for nothing."""
    if given is None:
        return []
    things = list(given) if isinstance(given, Iterable) else [given]
    return [of_kind(thing, kind) for thing in things]


def functions(given: Any) -> list[Any]:
    """A list of functions: one, several, or None for nothing."""
    functions = [given] if callable(given) else list(given or ())
    for function in functions:
        if not callable(function):
            raise PluginBroken(f"it gives a {type(function).__name__}, not a function")
    return functions


def able(given: Any, port: type[Any]) -> Any:
    """The thing itself, which has all functions of that protocol."""
    if missing := unable(given, port):
        kind = type(given).__name__
        raise PluginBroken(
            f"it gives a {kind}, not a {named(port)}: it has no function `{missing[0]}`"
        )
    return given


def unable(given: Any, port: type[Any]) -> list[str]:
    """The functions of a protocol that a thing does not have."""
    own = [name for name, it in vars(port).items() if callable(it) and not name.startswith("_")]
    return [name for name in own if not callable(getattr(given, name, None))]


def named(kind: type[Any]) -> str:
    """A type as the authors of plugins import it."""
    if kind.__module__ == "builtins":
        return kind.__name__
    paths = (path for path, module in promised() if module == kind.__module__)
    return f"{next(paths, kind.__module__)}.{kind.__name__}"


@contextmanager
def failing(
    what: Sentence, note: Callable[[str], object], *passing: type[Exception]
) -> Iterator[None]:
    """Catch a failure of other code while inside, and `note` why, unless it is a `passing` one,
    which is raised."""
    why, passed = "", list[Exception]()
    with boundary(what) as caught:
        try:
            yield
        except passing as error:
            passed.append(error)
        except NanobotError as error:
            why = str(error)
    if passed:
        raise passed[0]
    if caught.error is not None:
        why = f"{type(caught.error).__name__}: {caught.error}"
    if why:
        note(why)
