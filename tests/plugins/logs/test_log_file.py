"""The log file: whatever is in its place, nothing waits for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanobot.plugins.logs.log_file import LogFile


def pipe(path: Path) -> None:
    os.mkfifo(path)


def nothing(path: Path) -> None:
    path.parent.rmdir()


def full_device(path: Path) -> None:
    path.symlink_to("/dev/full")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.fixture
def in_time() -> Iterator[None]:
    """Ends a test that hangs in a system call."""

    def hangs(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(5)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("make", [Path.mkdir, pipe, nothing, full_device, link_to_itself])
def test_whatever_is_in_its_place_a_line_is_written_or_lost(
    in_time: None, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    file = tmp_path / "logs" / "gateway.log"
    file.parent.mkdir()
    make(file)
    LogFile(file).write("a line\n")
    assert make is not nothing or file.read_text() == "a line\n"


def test_a_pipe_that_nobody_empties_is_not_waited_for(in_time: None, tmp_path: Path) -> None:
    file = tmp_path / "gateway.log"
    os.mkfifo(file)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(100):
        LogFile(file).write("x" * 10_000)
    os.close(reader)
