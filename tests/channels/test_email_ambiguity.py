"""Headers that the mail server and Python would read differently: no mail with such is heard."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot_channels.email.auth import authenticated, author
from nanobot_channels.email.headers import ambiguity, headers_of
from nanobot_channels.email.mime import MAX_HEADER_BYTES, MailScanner
from nanobot_channels.email.reading import Ignored, MessageIds, Reader
from tests.doubles.mail_server import AUTHSERV, OWNER, USER

FORGED = f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from=example.com".encode()
FROM = f"From: {OWNER}".encode()


def as_the_server_reads(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The fields of a block: lines end at LF alone, and one that begins with a blank continues."""
    fields: list[tuple[bytes, bytes]] = []
    for ended in raw.split(b"\n"):
        line = ended.removesuffix(b"\r")
        if not line:
            break
        if line[:1] in {b" ", b"\t"} and fields:
            name, value = fields[-1]
            fields[-1] = name, value + line
        elif b":" in line:
            name, _, value = line.partition(b":")
            fields.append((name.rstrip(b" \t").lower(), value))
    return fields


def as_python_reads(raw: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode("utf-8", "surrogateescape").lower(), value.encode("utf-8", "surrogateescape"))
        for name, value in headers_of(raw).raw_items()
    ]


def plain(fields: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Without what unfolding may do to blanks."""
    return [(name, b"".join(value.split())) for name, value in fields]


LINE_ENDS = (b"\r\n", b"\n", b"\r", b"\r\r\n")
ODD_BYTES = (b"\0", b" ", b"\t", b":", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff", b"\xe2\x80\xa8")
TEXTS = (b"From ", b"From:", b"Subject: x", b"--x", b"no header", FORGED, FROM)
LONG = (b"X: " + b"y" * 994, b"X: " + b"y" * 996)
PIECES = st.lists(
    st.one_of(st.sampled_from((*LINE_ENDS, *ODD_BYTES, *TEXTS, *LONG)), st.binary(max_size=6)),
    max_size=14,
).map(b"".join)


@given(PIECES)
@example(b"Subject: x\r" + FORGED + b"\r\n" + FROM + b"\r\n")
@example(FROM + b"\r\nFrom : bob@example.net\r\n")
@example(b"From x\r\n" + FROM + b"\r\n")
@example(FROM + b"\r\nno header\r\nFrom: bob@example.net\r\n")
def test_what_is_not_refused_reads_as_the_server_reads_it(block: bytes) -> None:
    raw = block + b"\r\n\r\n"
    scanner = MailScanner()
    scanner.feed(raw + b"body")
    mail = scanner.mail()
    head = raw[: raw.index(b"\n\r\n") + 1] if b"\n\r\n" in raw else raw
    head = head[: head.index(b"\n\n") + 1] if b"\n\n" in head else head
    if not mail.ambiguous and not ambiguity(head):
        assert plain(as_python_reads(head)) == plain(as_the_server_reads(head))
        assert [name.lower() for name, _ in mail.headers.raw_items()] == [
            name.decode() for name, _ in as_the_server_reads(head)
        ]


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"Subject: x\r" + FORGED + b"\r\n" + FROM, "a carriage return"),
        (b"\r" + FORGED + b"\r\n" + FROM, "a carriage return"),
        (b"Subject: x\r\r\n" + FORGED + b"\r\n" + FROM, "a carriage return"),
        (FORGED + b"\r\n" + FROM + b"\r", "a carriage return"),
        (FORGED + b"\r\nSubject: a\0b\r\n" + FROM, "a NUL"),
        (FORGED + b"\r\nSubject: " + b"x" * 990 + b"\r\n" + FROM, "a line of 999 bytes"),
        (FORGED + b"\r\nFrom : bob@example.net\r\n" + FROM, "is not a header"),
        (b"From bob\r\n" + FORGED + b"\r\n" + FROM, "is not a header"),
        (FORGED + b"\r\n" + FROM + b"\r\nstray\r\nFrom: bob@example.net", "is not a header"),
        (b" folded\r\n" + FORGED + b"\r\n" + FROM, "is not a header"),
        (
            FORGED + b"\r\n" + FROM + b"\r\n" + b"X-Long: x\r\n" * (MAX_HEADER_BYTES // 8),
            "headers of over",
        ),
    ],
)
@pytest.mark.parametrize("piece", [7, 1_000_000])
def test_such_a_mail_is_refused(block: bytes, why: str, piece: int) -> None:
    raw = block + b"\r\n\r\nhello\r\n"
    step = piece if len(raw) < 10_000 else 50_000
    scanner = MailScanner()
    for start in range(0, len(raw), step):
        scanner.feed(raw[start : start + step])
    reader = Reader("email", USER, [AUTHSERV], MessageIds(USER, "secret"))
    result = reader.read(scanner.mail(), "1:1", 0.0)
    assert isinstance(result, Ignored)
    assert why in result.why
    assert result.warn


def test_the_longest_line_is_allowed() -> None:
    assert ambiguity(b"Subject: " + b"x" * 989 + b"\r\n folded\r\n\r\n") == ""


@pytest.mark.parametrize(
    "own",
    [
        f'{AUTHSERV}; spf=fail smtp.mailfrom="unended',
        f"{AUTHSERV}; spf=fail (unended",
        f"{AUTHSERV} 1 odd; dmarc=fail",
        f"{AUTHSERV}",
    ],
)
def test_an_own_result_that_cannot_be_read_is_not_passed_over(own: str) -> None:
    raw = f"Authentication-Results: {own}\r\n".encode() + FORGED + b"\r\n" + FROM + b"\r\n\r\n"
    headers = headers_of(raw)
    sender = author(headers)
    assert sender is not None
    assert authenticated(headers, sender, [AUTHSERV])
