"""Who sent it: by the signatures that services publish, and by no other."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import TOLERANCE_SECONDS, Unsigned, sign, verify

NOW = 1_800_000_000.0
STYLES = ("github", "stripe", "standard", "generic", "bearer")

# "Validating webhook deliveries", docs.github.com.
GITHUB = HookSettings(style="github", secret="It's a Secret to Everybody")
HELLO = b"Hello, World!"
HELLO_SIGNED = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

# The example of Standard Webhooks' reference libraries.
STANDARD = HookSettings(style="standard", secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_AT = 1_614_265_330.0
STANDARD_HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}

# Made with `openssl dgst -sha256 -hmac`, after docs.stripe.com, "Verify webhook signatures
# manually".
STRIPE = HookSettings(style="stripe", secret="whsec_test_secret")
STRIPE_BODY = b'{"id":"evt_1","type":"charge.succeeded"}'
STRIPE_AT = 1_492_774_577.0
STRIPE_SIGNED = "4ee5e8d695c9619e003fd480d3d51700d924e29697337d379a6ef6e06e703ab4"


def lowered(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def test_githubs_published_example_is_right_and_any_other_is_not() -> None:
    headers = {"x-hub-signature-256": HELLO_SIGNED, "x-github-delivery": "72d3162e"}
    assert verify(GITHUB, headers, HELLO, NOW).key == "72d3162e"
    auto = msgspec.structs.replace(GITHUB, style="auto")
    assert verify(auto, headers, HELLO, NOW).style == "github"
    for body, signed in (
        (b"Hello, World?", HELLO_SIGNED),
        (HELLO, HELLO_SIGNED[:-1]),
        (HELLO, HELLO_SIGNED[:-1] + "8"),
        (HELLO, "sha256="),
        (HELLO, ""),
    ):
        with pytest.raises(Unsigned):
            verify(GITHUB, {"x-hub-signature-256": signed}, body, NOW)
    with pytest.raises(Unsigned):
        verify(GITHUB, {}, HELLO, NOW)


def test_the_published_example_of_standard_webhooks_is_right_within_five_minutes() -> None:
    signed = verify(STANDARD, STANDARD_HEADERS, STANDARD_BODY, STANDARD_AT)
    assert signed.key == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    several = {**STANDARD_HEADERS, "webhook-signature": "v1a,xxx v1,wrong "}
    several["webhook-signature"] += STANDARD_HEADERS["webhook-signature"]
    assert verify(STANDARD, several, STANDARD_BODY, STANDARD_AT + 299) == signed
    for at in (STANDARD_AT + 301, STANDARD_AT - 301):
        with pytest.raises(Unsigned):
            verify(STANDARD, STANDARD_HEADERS, STANDARD_BODY, at)
    for name, value in (("webhook-id", "msg_2"), ("webhook-timestamp", "1614265331")):
        with pytest.raises(Unsigned):
            verify(STANDARD, {**STANDARD_HEADERS, name: value}, STANDARD_BODY, STANDARD_AT)


def test_stripes_signature_holds_for_its_time_and_body_and_one_of_several_is_enough() -> None:
    header = f"t=1492774577,v1={'0' * 64},v1={STRIPE_SIGNED},v0={'1' * 64}"
    headers = {"stripe-signature": header}
    assert verify(STRIPE, headers, STRIPE_BODY, STRIPE_AT + 300).key == "evt_1"
    for wrong, at in (
        (header, STRIPE_AT + TOLERANCE_SECONDS + 1),
        (header.replace("1492774577", "1492774578"), STRIPE_AT),
        (f"t=1492774577,v0={STRIPE_SIGNED}", STRIPE_AT),
        (f"v1={STRIPE_SIGNED}", STRIPE_AT),
        ("", STRIPE_AT),
        ("t=,v1=", STRIPE_AT),
    ):
        with pytest.raises(Unsigned):
            verify(STRIPE, {"stripe-signature": wrong}, STRIPE_BODY, at)


def test_two_events_of_stripe_without_an_id_are_two() -> None:
    keys = set()
    for body in (b"{}", b'{"a": 1}'):
        headers = lowered(sign(STRIPE, body, at=NOW, key=""))
        keys.add(verify(STRIPE, headers, body, NOW).key)
    assert len(keys) == 2
    assert "" not in keys


def test_a_secret_that_is_shown_is_never_guessed_to_be_meant() -> None:
    headers = {"authorization": "Bearer a long secret"}
    bearer = HookSettings(style="bearer", secret="a long secret")
    assert verify(bearer, headers, b"{}", NOW).key == ""
    with pytest.raises(Unsigned):
        verify(msgspec.structs.replace(bearer, style="auto"), headers, b"{}", NOW)
    for wrong in ("Bearer a long secre", "Basic a long secret", "a long secret", "Bearer ", ""):
        with pytest.raises(Unsigned):
            verify(bearer, {"authorization": wrong}, b"{}", NOW)


def test_a_sender_without_a_clock_signs_the_body_in_a_header_of_its_own() -> None:
    hook = HookSettings(
        style="generic", secret="s", signature_header="X-Line-Mac", timestamp_header=""
    )
    headers = lowered(sign(hook, b"{}", at=NOW, key="1"))
    same = verify(hook, headers, b"{}", NOW + 10**6).key
    assert same
    headers["idempotency-key"] = "2"
    assert verify(hook, headers, b"{}", NOW).key == same
    assert same != verify(hook, lowered(sign(hook, b"[]", at=NOW, key="")), b"[]", NOW).key


def test_an_odd_name_of_a_delivery_becomes_a_plain_one() -> None:
    headers = {"x-hub-signature-256": HELLO_SIGNED}
    for odd in ("\udcff", "x" * 5_000, "\n", "ü"):
        key = verify(GITHUB, {**headers, "x-github-delivery": odd}, HELLO, NOW).key
        assert len(key) == 64
        assert key.isascii()


@given(st.sampled_from(STYLES), st.text(min_size=1), st.binary(), st.integers(0, 2**33))
def test_what_is_signed_as_a_sender_signs_is_taken_and_nothing_else(
    style: str, secret: str, body: bytes, at: int
) -> None:
    secret = secret.encode("utf-8", "replace").decode().strip() or "s"
    hook = HookSettings(style=style, secret=secret)  # type: ignore[arg-type]
    headers = lowered(sign(hook, body, at=at, key="key-1"))
    signed = verify(hook, headers, body, at + 0.5)
    assert signed.style == style
    other = msgspec.structs.replace(hook, secret=secret + "x")
    with pytest.raises(Unsigned):
        verify(other, headers, body, at)
    if style != "bearer":
        with pytest.raises(Unsigned):
            verify(hook, headers, body + b" ", at)


NAMES = st.sampled_from(
    [
        "authorization",
        "x-hub-signature-256",
        "stripe-signature",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-signature-256",
        "x-timestamp",
        "idempotency-key",
    ]
)
VALUES = st.text() | st.sampled_from(["t=1800000000,v1=", "1800000000", "Bearer \udcff", "sha256="])


@given(st.sampled_from((*STYLES, "auto")), st.dictionaries(NAMES, VALUES), st.binary(max_size=200))
def test_whatever_strangers_send_is_refused_and_breaks_nothing(
    style: str, headers: dict[str, str], body: bytes
) -> None:
    hook = HookSettings(style=style, secret="nobody guesses this")  # type: ignore[arg-type]
    with pytest.raises(Unsigned):
        verify(hook, headers, body, NOW)
