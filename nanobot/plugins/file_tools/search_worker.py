"""The process that searches files: `python -m nanobot.plugins.file_tools.search_worker`.

It is given an open folder (or one file) and never leaves it. It writes a line for each matching
line: path, NUL, number, colon, text. A pattern that takes forever blocks only this process, which
the parent kills in time. If ripgrep is available, the process becomes ripgrep.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.files.tree import walk
from nanobot.plugins.common.files.worker_limits import limit_self
from nanobot.plugins.common.globs import Glob
from nanobot.plugins.file_tools.text_file import decode

MAX_FILE = 16 << 20
MAX_SHOWN = 300
BAD_PATTERN = 2
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class SearchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for, in the open `descriptor`. `hidden` are the devices and inodes to skip;
    `rg` is the program.
    """

    descriptor: int
    pattern: str
    glob: str = ""
    literal: bool = False
    ignore_case: bool = False
    hidden: tuple[tuple[int, int], ...] = ()
    rg: str = ""


def compiled(job: SearchJob) -> re.Pattern[str]:
    """The pattern. Raises re.error."""
    text = re.escape(job.pattern) if job.literal else job.pattern
    return re.compile(text, re.IGNORECASE if job.ignore_case else 0)


def arguments_of_rg(job: SearchJob) -> list[str]:
    """Arguments that make ripgrep find the same lines, independent of configuration and ignore
    files, without following links, in one order.
    """
    chosen = ["--fixed-strings"] if job.literal else []
    chosen += ["--ignore-case"] if job.ignore_case else []
    return [
        *("--no-config", "--no-ignore", "--hidden", "--no-follow", "--no-mmap", "--no-messages"),
        *("--line-number", "--with-filename", "--null", "--no-heading", "--color=never"),
        *("--no-column", "--sort=path", f"--max-filesize={MAX_FILE}"),
        *(f"--max-columns={MAX_SHOWN * 4}", "--max-columns-preview"),
        *([f"--glob={job.glob}"] if job.glob else []),
        *("--glob=!.git", *chosen, "--regexp", job.pattern, "--", "."),
    ]


def _search(job: SearchJob) -> Iterator[bytes]:
    pattern = compiled(job)
    if stat.S_ISREG(os.fstat(job.descriptor).st_mode):
        yield from _matches(pattern, job.descriptor, "")
        return
    chosen = Glob(job.glob) if job.glob else None
    hidden = frozenset(job.hidden)
    for path, folder, name in walk(job.descriptor, hidden):
        if chosen is None or chosen.matches(path):
            yield from _in_file(pattern, (folder, name), path, hidden)


def _in_file(
    pattern: re.Pattern[str],
    place: tuple[int, str],
    path: str,
    hidden: frozenset[tuple[int, int]],
) -> Iterator[bytes]:
    try:
        descriptor = os.open(place[1], _READ, dir_fd=place[0])
    except OSError:
        return
    try:
        status = os.fstat(descriptor)
        seen = stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in hidden
        if seen and status.st_size <= MAX_FILE:
            yield from _matches(pattern, descriptor, path)
    finally:
        os.close(descriptor)


def _matches(pattern: re.Pattern[str], descriptor: int, path: str) -> Iterator[bytes]:
    try:
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE)
        if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return
        text = decode(data)[0]
    except (OSError, ToolError):
        # Removed in the meantime, or not text: nothing to find.
        return
    for number, line in enumerate(text.split("\n"), start=1):
        match = pattern.search(line)
        if match:
            shown = _around(line.rstrip("\r"), match.start())
            yield f"{path}\0{number}:{shown}\n".encode("utf-8", "surrogateescape")


def _around(line: str, at: int) -> str:
    if len(line) <= MAX_SHOWN:
        return line
    first = max(0, min(at - 40, len(line) - MAX_SHOWN))
    head = "..." if first else ""
    return f"{head}{line[first : first + MAX_SHOWN]}..."


def main() -> None:
    """Read the job from the arguments and search; exits with 2 and a line on stderr if the pattern
    is invalid.
    """
    limit_self()
    job = msgspec.json.decode(sys.argv[1].encode(), type=SearchJob)
    if job.rg and stat.S_ISDIR(os.fstat(job.descriptor).st_mode):
        os.fchdir(job.descriptor)
        os.close(job.descriptor)
        # No shell is involved, and the pattern is passed so that it cannot be taken for an option.
        os.execv(job.rg, ["rg", *arguments_of_rg(job)])  # noqa: S606
    try:
        for line in _search(job):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    except (re.error, ToolError, RecursionError, OverflowError) as error:
        sys.stderr.write(str(error))
        sys.exit(BAD_PATTERN)
    except MemoryError:
        sys.stderr.write("it needs too much memory")
        sys.exit(BAD_PATTERN)


if __name__ == "__main__":
    main()
