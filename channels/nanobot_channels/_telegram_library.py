"""What the channel uses of python-telegram-bot.

As it loads, it takes in httpx (a transport in whose place the channel has its own) with httpx's
command line, thus rich, click and pygments, which would stay for as long as a gateway runs and are
never used. That module is optional to httpx, so meanwhile it counts as not installed. (Not so
cryptography, which Telegram Passport would use: other threads may be importing what does need it.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def absent(*names: str) -> Iterator[None]:
    """Within, no module of these names can be imported but those that are loaded already.

    It holds for all threads.
    """
    hidden = [name for name in names if name not in sys.modules]
    # None is Python's own sign for a module that is not to be found.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with absent("httpx._main"):
    from telegram import Bot, InputFile
    from telegram.error import NetworkError, TelegramError
    from telegram.request import BaseRequest, RequestData

__all__ = ["BaseRequest", "Bot", "InputFile", "NetworkError", "RequestData", "TelegramError"]
