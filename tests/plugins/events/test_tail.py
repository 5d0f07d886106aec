"""New lines of a log, whatever becomes of the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanobot.plugins.events.sensor import SensorUnreadable
from nanobot.plugins.events.tail import FAR_BEHIND, LONGEST_LINE, MOST_BYTES, LogCursor, new_lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


def read(log: Path, cursor: LogCursor | None) -> tuple[list[bytes], LogCursor]:
    """Everything new, by as many readings as it takes."""
    lines: list[bytes] = []
    while True:
        chunk = new_lines(log, cursor)
        lines += chunk.lines
        if chunk.cursor == cursor or not chunk.lines:
            return lines, chunk.cursor
        cursor = chunk.cursor


def add(log: Path, text: bytes) -> None:
    with log.open("ab") as file:
        file.write(text)


def test_it_begins_at_the_end_and_gives_whole_lines_only(log: Path) -> None:
    add(log, b"old\n")
    lines, cursor = read(log, None)
    assert lines == []
    add(log, b"one\r\ntwo\n\nthr")
    lines, cursor = read(log, cursor)
    assert lines == [b"one", b"two"]
    add(log, b"ee\n")
    assert read(log, cursor)[0] == [b"three"]


def test_one_that_comes_into_being_is_read_from_its_beginning(log: Path) -> None:
    lines, cursor = read(log, None)
    assert lines == []
    add(log, b"first\n")
    assert read(log, cursor)[0] == [b"first"]


def test_one_that_was_rotated_is_read_to_its_end_first(tmp_path: Path, log: Path) -> None:
    add(log, b"old\n")
    cursor = read(log, None)[1]
    add(log, b"last of the old\n")
    log.rename(tmp_path / "a.log.1")
    add(log, b"first of the new\n")
    assert read(log, cursor)[0] == [b"last of the old", b"first of the new"]


def test_one_that_was_moved_and_is_not_there_yet_loses_nothing(tmp_path: Path, log: Path) -> None:
    add(log, b"old\n")
    cursor = read(log, None)[1]
    add(log, b"last of the old\n")
    log.rename(tmp_path / "a.log.1")
    lines, cursor = read(log, cursor)
    assert lines == [b"last of the old"]
    assert not new_lines(log, cursor).there
    add(log, b"first of the new\n")
    assert read(log, cursor)[0] == [b"first of the new"]


def test_one_that_was_emptied_is_read_from_its_beginning(log: Path) -> None:
    add(log, b"a long line that was there\n")
    cursor = read(log, None)[1]
    log.write_bytes(b"short\n")
    assert read(log, cursor)[0] == [b"short"]


def test_one_that_was_emptied_and_grew_beyond_where_it_was_is_read_from_its_beginning(
    log: Path,
) -> None:
    add(log, b"a line\n")
    cursor = read(log, None)[1]
    log.write_bytes(b"another line\nand one more\n")
    assert read(log, cursor)[0] == [b"another line", b"and one more"]


def test_a_jump_of_a_gigabyte_is_passed_over_but_for_its_end(log: Path) -> None:
    add(log, b"old\n")
    cursor = read(log, None)[1]
    os.truncate(log, 1 << 30)
    add(log, b"\nthe last line\n")
    chunk = new_lines(log, cursor)
    assert chunk.lines[-1] == b"the last line"
    assert sum(map(len, chunk.lines)) <= MOST_BYTES
    assert chunk.passed_over > (1 << 30) - MOST_BYTES - 100
    assert new_lines(log, chunk.cursor).lines == ()


def test_what_is_much_but_not_too_much_comes_piece_by_piece_and_whole(log: Path) -> None:
    add(log, b"")
    cursor = read(log, None)[1]
    line = b"x" * 999 + b"\n"
    add(log, line * ((FAR_BEHIND - 10_000_000) // 1_000))
    assert len(read(log, cursor)[0]) == (FAR_BEHIND - 10_000_000) // 1_000


def test_a_line_without_end_is_taken_in_pieces(log: Path) -> None:
    add(log, b"")
    cursor = read(log, None)[1]
    add(log, b"y" * (LONGEST_LINE + 5))
    chunk = new_lines(log, cursor)
    assert [len(line) for line in chunk.lines] == [LONGEST_LINE]


def test_what_is_no_file_is_said_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(SensorUnreadable, match="is no file"):
            new_lines(tmp_path / name, None)
    with pytest.raises(SensorUnreadable, match="cannot be read: Not a directory"):
        new_lines(Path(__file__) / "below", None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_that_may_not_be_read_is_named(log: Path) -> None:
    add(log, b"secret\n")
    log.chmod(0)
    with pytest.raises(SensorUnreadable, match=r"a\.log cannot be read: Permission denied"):
        new_lines(log, None)


WORD = st.binary(min_size=1, max_size=12).filter(lambda b: b"\n" not in b and not b.endswith(b"\r"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.one_of(WORD, st.sampled_from(["rotate", "look", "restart"])), max_size=40))
def test_every_line_is_given_once_and_in_order_through_rotations(
    tmp_path: Path, steps: list[bytes | str]
) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    log, written, lines_read, number = tmp_path / "a.log", [], [], 0
    add(log, b"")
    cursor = read(log, None)[1]
    for step in [*steps, "look"]:
        if isinstance(step, bytes):
            add(log, step + b"\n")
            written.append(step)
        elif step == "rotate":
            lines, cursor = read(log, cursor)  # one rotation between two looks at the most
            lines_read += lines
            number += 1
            log.rename(tmp_path / f"a.log.{number}")
            add(log, b"")
        else:
            lines, cursor = read(log, cursor)
            lines_read += lines
    assert lines_read == written
