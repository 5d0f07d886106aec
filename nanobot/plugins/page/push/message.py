"""One pushed message: encrypted for the subscribed browser (RFC 8291), and signed by the gateway
(VAPID, RFC 8292). The first message loads the encryption library.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

RECORD = 4_096
MOST_BYTES = 3_000
"""The size that every push service accepts."""
_POINT = 65
_SECRET = 16
_TOKEN_SECONDS = 12 * 3_600


class PushKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a browser's subscription, base64url: its public key and a secret."""

    p256dh: str
    auth: str


def encoded(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """The bytes of base64url. Raises ValueError."""
    if not text.isascii() or set(text) - _ALPHABET:
        raise ValueError("this is not base64url")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=")


def check_keys(keys: PushKeys) -> None:
    """Raises ValueError for keys that cannot be used for encryption."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    if len(decoded(keys.auth)) != _SECRET:
        raise ValueError("auth is not 16 bytes long")
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(keys.p256dh))


def encrypted(plain: bytes, keys: PushKeys) -> bytes:
    """The body of a request to the push service: only that browser can read it."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    browser, auth = decoded(keys.p256dh), decoded(keys.auth)
    own = ec.generate_private_key(ec.SECP256R1())
    public = point_of(own)
    peer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), browser)
    shared = own.exchange(ec.ECDH(), peer)
    key = _derived(shared, auth, b"WebPush: info\0" + browser + public, 32)
    salt = os.urandom(16)
    content_key = _derived(key, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(key, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(content_key).encrypt(nonce, plain + b"\x02", None)
    return salt + RECORD.to_bytes(4, "big") + bytes([_POINT]) + public + sealed


def signed(endpoint: str, key: EllipticCurvePrivateKey, subject: str, now: float) -> str:
    """The Authorization header of a request to that push service. `subject`: its contact for
    questions.
    """
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(now) + _TOKEN_SECONDS,
        "sub": subject,
    }
    head = _json({"typ": "JWT", "alg": "ES256"})
    content = f"{head}.{_json(claims)}"
    signature = key.sign(content.encode(), ec.ECDSA(hashes.SHA256()))
    r, s = utils.decode_dss_signature(signature)
    token = f"{content}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    return f"vapid t={token}, k={encoded(point_of(key))}"


def point_of(key: EllipticCurvePrivateKey) -> bytes:
    """The public key in the format of browsers and push services."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
    )

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _json(value: Mapping[str, object]) -> str:
    return encoded(msgspec.json.encode(value))


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)
