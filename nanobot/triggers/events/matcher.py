"""The process that looks for a pattern in lines: `python -I matcher.py`. Needs only the standard
library, so that it starts within 20 ms.

Each line of its input is a job in JSON, each line of its output the result. A pattern can take for
ever over one line; here a timer interrupts it, and nobody else waits.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from typing import Any

LINE_SECONDS = 0.2
JOB_SECONDS = 5.0


class TooLong(Exception):
    """The time for one line is over."""


def _ring(_number: int, _frame: object) -> None:
    raise TooLong


def found(job: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the lines with the pattern (`hits`), and how many lines could not be looked at
    because the pattern takes too long (`slow`)."""
    pattern = re.compile(job["pattern"], re.IGNORECASE if job["ignore_case"] else 0)
    hits, slow, until = [], 0, time.monotonic() + JOB_SECONDS
    for number, line in enumerate(job["lines"]):
        if time.monotonic() >= until:
            slow += len(job["lines"]) - number
            break
        try:
            signal.setitimer(signal.ITIMER_REAL, LINE_SECONDS)
            try:
                if pattern.search(line):
                    hits.append(number)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TooLong:
            slow += 1
    return {"hits": hits, "slow": slow}


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGALRM, _ring)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(found(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
