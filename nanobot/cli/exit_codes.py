"""How commands end: errors of ours with their exit code and one clear line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.cli.output import warn
from nanobot.errors import NanobotError

INTERRUPTED = 130


@contextmanager
def errors() -> Iterator[None]:
    """Errors of ours end with their exit code and one clear line, an interrupt with 130: both raise
    SystemExit."""
    try:
        yield
    except NanobotError as error:
        warn(f"nanobot: {error}")
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, EOFError):
        warn()
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read the output has left (`| head`); Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
