"""Authenticates senders: the signatures of the services that send webhooks, over the bytes as
received.

- `github`: HMAC-SHA256 of the body, in X-Hub-Signature-256 (GitHub, "Validating webhook
  deliveries").
- `stripe`: of "TIMESTAMP.body", in Stripe-Signature as t=...,v1=... (Stripe, "Verify webhook
  signatures manually"); several v1 while a secret is being replaced.
- `standard`: of "ID.TIMESTAMP.body", base64, in webhook-signature (Standard Webhooks 1.0.0).
- `generic`: of "TIMESTAMP.body" in a configurable header; of the body alone if there is no
  timestamp.
- `bearer`: the secret itself, in Authorization.

Pure functions; every comparison takes constant time, wherever the texts differ.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

import msgspec

from nanobot.plugins.hooks.settings import HookSettings
from nanobot.text import pattern

TOLERANCE_SECONDS = 300.0
"""Maximum age of a timestamp, and maximum lead (default of Stripe and Standard Webhooks)."""
_MOST_SIGNATURES = 20
_SIGNATURE = "x-hub-signature-256"
_NUMBER = pattern(r"[0-9]{1,12}")
_DELIVERIES: Final = ("x-github-delivery", "x-gitea-delivery")
_GIVEN_NAME: Final = "idempotency-key"
_KEY_CHARS = 120


class Unsigned(Exception):
    """The sender is not authenticated; the text says why and is meant for the log only."""


class Signed(msgspec.Struct, frozen=True):
    """The identity of a signed request. `key` is the same if the sender repeats the delivery; "" if
    the sender gives none. `named`: the sender's name for the delivery if the name is not signed, so
    that it does not prove who repeated it.
    """

    style: str
    key: str
    named: str = ""


def verify(hook: HookSettings, headers: Mapping[str, str], body: bytes, now: float) -> Signed:
    """Verify a request; `headers` have lower-case names. Raises Unsigned."""
    style = _style(hook, headers)
    if style == "github":
        _github(hook.secret, headers, body)
    elif style == "stripe":
        _stripe(hook.secret, headers, body, now)
    elif style == "standard":
        _standard(hook.secret, headers, body, now)
    elif style == "generic":
        _generic(hook, headers, body, now)
    else:
        _bearer(hook.secret, headers)
    named = headers.get(_GIVEN_NAME, "") if style == "generic" else ""
    return Signed(style, _key(hook, style, headers, body), named)


def sign(hook: HookSettings, body: bytes, *, at: float, key: str) -> dict[str, str]:
    """The headers that a sender would add at this time to a delivery with this key."""
    secret, stamp = hook.secret, str(int(at))
    stamped = stamp.encode() + b"." + body
    if hook.style in {"github", "auto"}:
        return {"X-Hub-Signature-256": f"sha256={_hex(secret, body)}", "X-GitHub-Delivery": key}
    if hook.style == "stripe":
        return {"Stripe-Signature": f"t={stamp},v1={_hex(secret, stamped)}"}
    if hook.style == "standard":
        signed = hmac.digest(_standard_key(secret), key.encode() + b"." + stamped, "sha256")
        return {
            "webhook-id": key,
            "webhook-timestamp": stamp,
            "webhook-signature": "v1," + base64.b64encode(signed).decode(),
        }
    if hook.style == "bearer":
        return {"Authorization": f"Bearer {secret}", "Idempotency-Key": key}
    if not hook.timestamp_header:
        return {hook.signature_header: f"sha256={_hex(secret, body)}", "Idempotency-Key": key}
    return {
        hook.signature_header: f"sha256={_hex(secret, stamped)}",
        hook.timestamp_header: stamp,
        "Idempotency-Key": key,
    }


def _style(hook: HookSettings, headers: Mapping[str, str]) -> str:
    """The signature style. A style that transmits the secret itself is never guessed."""
    if hook.style != "auto":
        return hook.style
    if _SIGNATURE in headers:
        return "github"
    if "stripe-signature" in headers:
        return "stripe"
    return "standard" if "webhook-signature" in headers else "generic"


def _github(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    shown = headers.get(_SIGNATURE, "")
    _same([shown.removeprefix("sha256=")], _hex(secret, body))


def _stripe(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> None:
    parts = [
        candidate.partition("=") for candidate in headers.get("stripe-signature", "").split(",")
    ]
    stamps = [value.strip() for name, _, value in parts if name.strip() == "t"]
    shown = [value.strip() for name, _, value in parts if name.strip() == "v1"]
    stamp = _fresh(stamps[0] if stamps else "", now)
    _same(shown, _hex(secret, stamp.encode() + b"." + body))


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> None:
    identity = headers.get("webhook-id", "")
    if not identity:
        raise Unsigned("there is no webhook-id")
    stamp = _fresh(headers.get("webhook-timestamp", ""), now)
    content = f"{identity}.{stamp}.".encode("utf-8", "surrogateescape") + body
    signed = hmac.digest(_standard_key(secret), content, "sha256")
    shown = [candidate.partition(",") for candidate in headers.get("webhook-signature", "").split()]
    expected = base64.b64encode(signed).decode()
    _same([value for version, _, value in shown if version == "v1"], expected)


def _generic(hook: HookSettings, headers: Mapping[str, str], body: bytes, now: float) -> None:
    if hook.timestamp_header:
        stamp = _fresh(headers.get(hook.timestamp_header.lower(), ""), now)
        body = stamp.encode() + b"." + body
    shown = headers.get(hook.signature_header.lower(), "")
    _same([shown.removeprefix("sha256=")], _hex(hook.secret, body))


def _bearer(secret: str, headers: Mapping[str, str]) -> None:
    scheme, _, shown = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise Unsigned("there is no Authorization: Bearer")
    if not hmac.compare_digest(_digest(shown.strip()), _digest(secret)):
        raise Unsigned("the secret is another")


def _standard_key(secret: str) -> bytes:
    """The key behind a secret: base64 after `whsec_`; other text is the key itself."""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return secret.encode()


def _same(shown: list[str], expected: str) -> None:
    """Raises Unsigned unless one of the signatures matches."""
    if not any(shown):
        raise Unsigned("there is no signature")
    right = False
    for candidate in shown[:_MOST_SIGNATURES]:
        # Compares digests, because compare_digest reveals the length and rejects non-ASCII text.
        right |= hmac.compare_digest(_digest(candidate), _digest(expected))
    if not right:
        raise Unsigned("the signature is wrong: another secret, or the body was changed on its way")


def _fresh(stamp: str, now: float) -> str:
    if not _NUMBER.fullmatch(stamp):
        raise Unsigned("there is no timestamp")
    if abs(now - int(stamp)) > TOLERANCE_SECONDS:
        raise Unsigned(f"its timestamp is {now - int(stamp):+.0f} s from now: a replay, or a clock")
    return stamp


def _hex(secret: str, content: bytes) -> str:
    return hmac.digest(secret.encode(), content, "sha256").hex()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _key(hook: HookSettings, style: str, headers: Mapping[str, str], body: bytes) -> str:
    """The key of the delivery: the sender's id, otherwise the signed data."""
    if style == "standard":
        return _short(headers["webhook-id"])
    if style == "stripe":
        # The event's id is in the body, which is signed; two events never have the same body.
        return _event_id(body) or hashlib.sha256(body).hexdigest()
    if style == "bearer":
        # Without a name, a repetition cannot be told from the same event happening again.
        named = headers.get(_GIVEN_NAME, "")
        return _short(named) if named else ""
    named = next((headers[name] for name in _DELIVERIES if headers.get(name)), "")
    if style == "github" and named:
        return _short(named)
    stamp = headers.get(hook.timestamp_header.lower(), "") if hook.timestamp_header else ""
    return hashlib.sha256(f"{stamp}.".encode("utf-8", "surrogateescape") + body).hexdigest()


class _Event(msgspec.Struct):
    id: str = ""


def _event_id(body: bytes) -> str:
    try:
        event_id = msgspec.json.decode(body, type=_Event).id
    except (msgspec.DecodeError, RecursionError):
        return ""
    return _short(event_id) if event_id else ""


def _short(text: str) -> str:
    """An id as a key; unchanged if it is plain and short."""
    if text.isascii() and text.isprintable() and 0 < len(text) <= _KEY_CHARS:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
