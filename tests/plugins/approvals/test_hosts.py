"""The hosts that a question names, over any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.approvals.hosts import host_end, host_shown, hosts_in
from tests.test_visible import TEXTS


@given(st.lists(st.from_regex(r"[a-z0-9]{1,30}", fullmatch=True), min_size=3, max_size=30))
def test_a_host_is_shown_by_its_end_however_long_it_is(labels: list[str]) -> None:
    host = ".".join([*labels, "evil", "example"])
    assert host_shown(host).startswith("evil.example (")


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("evil.example", "evil.example"),
        ("paypal.com.login.evil.example", "evil.example (paypal.com.login.evil.example)"),
        ("shop.evil.co.uk", "evil.co.uk (shop.evil.co.uk)"),
        ("p\u0430ypal.com", "xn--pypal-4ve.com (reads as p\u0430ypal.com)"),
        ("xn--pypal-4ve.com", "xn--pypal-4ve.com (reads as p\u0430ypal.com)"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_look_alikes_are_shown_in_punycode_and_as_they_read(host: str, shown: str) -> None:
    assert host_shown(host) == shown


@given(TEXTS)
def test_any_host_can_be_shown(host: str) -> None:
    assert len(host_shown(host)) < 2_000
    assert host_end(host).isascii() or len(host_end(host)) <= 61


def test_hosts_are_those_that_a_browser_would_ask() -> None:
    arguments = {
        "a": "see https://paypal.com@evil.example/x and http://one.test:80",
        "b": ["https:\\\\back.example\\@paypal.com", {"c": "ftp://[::1]/ http://one.test"}],
    }
    assert hosts_in(arguments) == ["evil.example", "one.test", "back.example", "::1"]
