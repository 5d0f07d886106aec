"""What a recording is like is read from its pages, whatever comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_channels.common.recordings import measure
from tests.doubles.sounds import opus


def test_its_length_and_where_it_is_loud_are_drawn() -> None:
    recording = measure(opus([10] * 50 + [200] * 50))
    assert recording is not None
    assert recording.seconds == pytest.approx(2.0)
    assert recording.waveform == bytes([0] * 10 + [255] * 10)


def test_of_a_long_one_256_points_are_drawn_and_of_the_shortest_one() -> None:
    long, short = measure(opus([10, 600] * 5_000)), measure(opus([10]))
    assert long is not None
    assert short is not None
    assert long.seconds == pytest.approx(200.0)
    assert len(long.waveform) == 256
    assert len(short.waveform) == 1


@pytest.mark.parametrize("content", [b"", b"OggS", b"ID3abc", opus([]), opus([10])[:60]])
def test_what_is_none_or_is_cut_off_is_no_recording(content: bytes) -> None:
    assert measure(content) is None


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 255))
def test_broken_bytes_do_no_harm(noise: bytes, at: int, value: int) -> None:
    measure(b"OggS" + noise)
    content = bytearray(opus([10, 300, 20]))
    content[at % len(content)] = value
    recording = measure(bytes(content))
    assert recording is None or 1 <= len(recording.waveform) <= 256
