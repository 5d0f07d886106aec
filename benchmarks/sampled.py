"""Runs `nanobot gateway` and samples what its threads do: `python sampled.py FILE`.

SIGUSR1 begins, SIGUSR2 ends and writes FILE: one line for each stack, outermost function first,
with the CPU milliseconds that were spent there. The CPU time that a thread used since the last
sample is counted for the stack that the thread has now.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

EVERY_SECONDS = 0.001
_SWITCH_SECONDS = 0.0001
"""How long a thread may keep the others waiting: a sample should not have to wait for a system
call."""


class Sampler:
    """Samples all threads but its own."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._spent: Counter[str] = Counter()
        self._ended = threading.Event()

    def begin(self, *_: object) -> None:
        """Start sampling."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        threading.Thread(target=self._run, daemon=True).start()

    def end(self, *_: object) -> None:
        """Stop, and write the file."""
        self._ended.set()
        lines = [f"{stack} {spent / 1e6:.3f}" for stack, spent in self._spent.most_common()]
        self._file.write_text("\n".join(lines), "utf-8")

    def _run(self) -> None:
        own = threading.get_ident()
        before: dict[int, int] = {}
        while not self._ended.wait(EVERY_SECONDS):
            for thread, frame in sys._current_frames().items():  # noqa: SLF001 - documented
                if thread == own:
                    continue
                used = _cpu(thread)
                spent = used - before.get(thread, used)
                before[thread] = used
                if spent > 0:
                    self._spent[_stack(frame)] += spent


def _cpu(thread: int) -> int:
    """The CPU time of a thread so far, in ns; 0 if it has ended."""
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(thread))
    except (OSError, OverflowError):
        return 0


def _stack(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        place = "/".join(Path(code.co_filename).parts[-3:])
        names.append(f"{place}:{code.co_name}")
        frame = frame.f_back
    return ";".join(reversed(names)).replace(" ", "_")


if __name__ == "__main__":
    sampler = Sampler(Path(sys.argv[1]))
    signal.signal(signal.SIGUSR1, sampler.begin)
    signal.signal(signal.SIGUSR2, sampler.end)
    sys.argv = ["nanobot", "gateway"]
    from nanobot.cli import main

    main()
