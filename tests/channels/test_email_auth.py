"""Who sent a mail: what the own server vouches for, and nothing that came with the mail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_channels.email.auth import authenticated, author, results, servers
from nanobot_channels.email.headers import headers_of

TRUSTED = ("mx.example.org",)


def doubt(*headers: str, sender: str = "Ann <ann@example.com>") -> str:
    """Why the sender is not believed."""
    lines = [f"Authentication-Results: {header}" for header in headers]
    parsed = headers_of("\r\n".join([*lines, f"From: {sender}", "", ""]).encode())
    who = author(parsed)
    return "no author" if who is None else authenticated(parsed, who, TRUSTED)


@pytest.mark.parametrize(
    "results",
    [
        "mx.example.org; dmarc=pass header.from=example.com",
        "MX.Example.Org 1; dmarc=pass (p=reject dis=none) header.from=Example.COM",
        "mx.example.org; spf=fail smtp.mailfrom=x@other.net; dmarc=pass header.from=example.com",
        "mx.example.org; dkim=pass header.d=example.com header.s=one",
        "mx.example.org; dkim=pass (2048-bit key) header.i=@example.com header.b=abc",
        "mx.example.org; dmarc=none; dkim=fail header.d=a.net; dkim=pass header.d=example.com",
        "mx.example.org; spf=pass (mx: domain of ann@example.com) smtp.mailfrom=ann@example.com",
        "mx.example.org; spf=pass smtp.mailfrom=example.com",
        'mx.example.org; dmarc=pass reason="a; b" header.from=example.com',
        "mx.example.org; dmarc=temperror header.from=example.com; dkim=pass header.d=example.com",
    ],
)
def test_a_checked_sender_is_believed(results: str) -> None:
    assert doubt(results) == ""


@pytest.mark.parametrize(
    "results",
    [
        "",
        ";",
        "mx.example.org; none",
        "mx.example.org",
        "mx.example.org; dmarc=fail header.from=example.com",
        "mx.example.org; dmarc=fail header.from=example.com; dkim=pass header.d=example.com",
        "mx.example.org; dmarc=pass header.from=evil.net",
        "mx.example.org; dmarc=pass; dmarc=fail",
        "mx.example.org; dkim=pass header.d=evil.net",
        "mx.example.org; dkim=pass header.d=mail.example.com",
        "mx.example.org; dkim=pass header.d=com",
        "mx.example.org; dkim=pass header.d=notexample.com",
        "mx.example.org; dkim=fail header.d=example.com; spf=pass smtp.mailfrom=evil.net",
        "mx.example.org; spf=pass smtp.helo=example.com",
        "mx.example.org; arc=pass header.d=example.com",
        "evil.net; dmarc=pass header.from=example.com",
        "mx.example.org.evil.net; dmarc=pass",
        "(mx.example.org) evil.net; dmarc=pass",
        # What an attacker may get quoted is no result.
        'mx.example.org; spf=pass smtp.mailfrom="; dmarc=pass header.from=example.com"@evil.net',
        'mx.example.org; spf=pass smtp.mailfrom="x smtp.mailfrom=a@example.com y"@evil.net',
        "mx.example.org; spf=none (x \\) ; dmarc=pass header.from=example.com)",
        "mx.example.org; dkim=pass header.i=@evil.net header.d=evil.net header.d=example.com",
        # What does not end means nothing.
        "mx.example.org; dmarc=pass header.from=example.com (",
        'mx.example.org; dmarc=pass header.from=example.com "',
    ],
)
def test_anything_else_is_not(results: str) -> None:
    assert doubt(results)


def test_only_the_topmost_header_of_the_own_server_counts() -> None:
    forged = "mx.example.org; dmarc=pass header.from=example.com"
    assert doubt("mx.example.org; dmarc=fail header.from=example.com", forged)
    assert doubt("mx.example.org; spf=softfail smtp.mailfrom=evil.net", forged)
    assert doubt("relay.example.org; none", forged) == ""
    assert doubt()


@pytest.mark.parametrize(
    ("raw", "address", "name"),
    [
        ("ann@example.com", "ann@example.com", ""),
        ("<Ann@Example.com>", "ann@example.com", ""),
        ("Ann B. <ann@example.com>", "ann@example.com", "Ann B."),
        ('"B, Ann" <ann@example.com>', "ann@example.com", "B, Ann"),
        ('"bob@example.net" <ann@example.com>', "ann@example.com", "bob@example.net"),
        ("=?utf-8?q?J=C3=BCrgen?= <ann@example.com>", "ann@example.com", "Jürgen"),
    ],
)
def test_one_author_is_found(raw: str, address: str, name: str) -> None:
    who = author(headers_of(f"From: {raw}\r\n\r\n".encode()))
    assert who is not None
    assert (who.address, who.name) == (address, name)


@pytest.mark.parametrize(
    "raw",
    [
        "ann@example.com, bob@example.net",
        "<ann@example.com> <bob@example.net>",
        "ann@example.com <bob@example.net>",
        "<bob@example.net>ann@example.com",
        "Ann",
        "",
        "ann@example.com (bob@example.net)",
        "friends: ann@example.com;",
        "<@evil.net:ann@example.com>",
        "ann@exämple.com",
        '"ann@example.com"@evil.net',
        "Ann <ann@example.com\x00>",
    ],
)
def test_an_ambiguous_author_is_none(raw: str) -> None:
    assert author(headers_of(f"From: {raw}\r\n\r\n".encode())) is None


def test_two_from_headers_name_nobody() -> None:
    assert author(headers_of(b"From: a@example.com\r\nFrom: a@example.com\r\n\r\n")) is None
    assert author(headers_of(b"To: a@example.com\r\n\r\n")) is None


def test_the_servers_are_named_for_who_sets_it_up() -> None:
    raw = b"Authentication-Results: a.example; none\r\nAuthentication-Results: b.example\r\n\r\n"
    assert servers(headers_of(raw)) == ["a.example", "b.example"]


@given(st.text(max_size=200))
def test_no_header_stops_the_check(raw: str) -> None:
    server, findings = results(raw)
    assert isinstance(server, str)
    assert all(finding.method == finding.method.lower() for finding in findings)
    doubt(raw.replace("\n", " "), sender=raw.replace("\n", " "))
