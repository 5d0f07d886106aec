"""How commands end: our errors with their exit code and one clear line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.cli.language import said
from nanobot.cli.output import warn
from nanobot.errors import NanobotError, StoreError

INTERRUPTED = 130


@contextmanager
def errors() -> Iterator[None]:
    """Our errors end with their exit code and one clear line, an interrupt with 130: both raise
    SystemExit.
    """
    try:
        yield
    except NanobotError as error:
        warn(f"nanobot: {said(str(error), within=False)}")
        raise SystemExit(error.exit_code) from None
    except (KeyboardInterrupt, EOFError):
        warn()
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`); Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        # A file or folder that the machine refuses. Anything else is a fault of ours.
        if error.filename is None:
            raise
        warn(f"nanobot: {error.filename}: {error.strerror}")
        raise SystemExit(StoreError.exit_code) from None
