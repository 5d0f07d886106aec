"""What the first bytes of a file say of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.workspace.images import MAX_BYTES, MAX_SIDE, Image, look, too_large
from tests.pictures import gif, jpeg, png, webp

MAKERS: dict[str, tuple[str, Callable[[int, int], bytes]]] = {
    "png": ("image/png", png),
    "jpeg": ("image/jpeg", jpeg),
    "gif": ("image/gif", gif),
    "webp lossy": ("image/webp", partial(webp, "VP8 ")),
    "webp lossless": ("image/webp", partial(webp, "VP8L")),
    "webp extended": ("image/webp", partial(webp, "VP8X")),
}
every_kind = pytest.mark.parametrize("kind", MAKERS)


@every_kind
def test_a_picture_is_known_by_its_header(kind: str) -> None:
    mime, make = MAKERS[kind]
    assert look(make(640, 480)) == Image(mime, 640, 480)


@every_kind
def test_a_header_that_is_cut_off_is_no_picture(kind: str) -> None:
    _, make = MAKERS[kind]
    whole = make(640, 480)
    seen = {length: look(whole[:length]) for length in range(len(whole))}
    assert all(
        extent is None or (extent.width, extent.height) == (640, 480) for extent in seen.values()
    )
    assert look(whole[:9]) is None


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif"])
def test_a_picture_without_pixels_is_none(kind: str) -> None:
    _, make = MAKERS[kind]
    assert look(make(0, 5)) is None
    assert look(make(5, 0)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04zip",
        b"<svg/>",
        b"<html>",
        b"%PDF-1.7",
        b"RIFF____WAVEfmt ",
        b"GIF89",
        b"BM",
    ],
)
def test_everything_else_is_no_picture(content: bytes) -> None:
    assert look(content) is None


@given(
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF....WEBPVP8 "]),
    st.binary(max_size=200),
)
def test_no_bytes_make_it_fail(head: bytes, rest: bytes) -> None:
    extent = look(head + rest)
    assert extent is None or (extent.width > 0 and extent.height > 0)


def test_what_models_refuse_is_too_large() -> None:
    assert too_large(Image("image/png", MAX_SIDE, MAX_SIDE), MAX_BYTES) == ""
    assert "8001 x 10 pixels" in too_large(Image("image/png", 8_001, 10), 100)
    assert "5.1 MB" in too_large(Image("image/png", 10, 10), 5_100_000)
