"""How commands end: errors of ours with their exit code and one clear line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.errors import NanobotError

INTERRUPTED = 130


@contextmanager
def errors() -> Iterator[None]:
    """Errors of ours end with their exit code and one clear line, an interrupt with 130: both raise
    SystemExit."""
    try:
        yield
    except NanobotError as error:
        print(f"nanobot: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, EOFError):
        print(file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
