"""The parts of python-telegram-bot that the channel uses.

On import it also loads libraries that are not used here. During the import the optional ones count
as not installed: cryptography, which is for Telegram Passport only and takes 7 MB for as long as a
gateway runs, and pytz. Its own transport needs httpx, which is loaded when somebody uses that.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any


class _Absent(MetaPathFinder):
    """Hides modules with these names, and their submodules, from one thread."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        refused = any(f"{fullname}.".startswith(f"{name}.") for name in self._names)
        if refused and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def absent(*names: str) -> Iterator[None]:
    """Within the context, this thread cannot import modules or packages with these names, except
    those that are already loaded. Other threads can.
    """
    finder = _Absent(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


_TRANSPORT = "telegram.request._httpxrequest"


class _Later(ModuleType):
    """Stands in for a module in another one, whose annotations name parts of it. It is imported
    when code asks for a part, once `awaited`."""

    awaited = False

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name) if self.awaited else object


class _TransportLoader(SourceFileLoader):
    """Loads PTB's transport without httpx. Only that module sees the stand-in."""

    def exec_module(self, module: ModuleType) -> None:
        httpx = _Later("httpx")

        def imported(name: str, *how: Any, **more: Any) -> Any:
            return httpx if name == httpx.__name__ else builtins.__import__(name, *how, **more)

        module.__dict__["__builtins__"] = vars(builtins) | {"__import__": imported}
        super().exec_module(module)
        httpx.awaited = True


class _TransportFinder(MetaPathFinder):
    """Finds PTB's transport for `_TransportLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == _TRANSPORT else None
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        spec.loader = _TransportLoader(spec.loader.name, spec.loader.path)
        return spec


@contextmanager
def _lean_transport() -> Iterator[None]:
    finder = _TransportFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


with absent("cryptography", "pytz"), _lean_transport():
    from telegram import (
        Bot,
        InputFile,
        InputMediaAudio,
        InputMediaDocument,
        InputMediaPhoto,
        InputMediaVideo,
    )
    from telegram.error import NetworkError, TelegramError
    from telegram.request import BaseRequest, RequestData

__all__ = [
    "BaseRequest",
    "Bot",
    "InputFile",
    "InputMediaAudio",
    "InputMediaDocument",
    "InputMediaPhoto",
    "InputMediaVideo",
    "NetworkError",
    "RequestData",
    "TelegramError",
]
