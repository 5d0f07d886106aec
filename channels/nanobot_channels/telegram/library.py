"""The parts of python-telegram-bot that the channel uses.

On import it also loads optional libraries that are not used here: httpx's command line (with rich,
click and pygments), pytz, and cryptography, which is for Telegram Passport only and takes 7 MB for
as long as a gateway runs. During the import these count as not installed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType


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


with absent("httpx._main", "cryptography", "pytz"):
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
