"""The key that signs this gateway's notifications. Browsers subscribe with its public half."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nanobot.errors import ConfigError
from nanobot.plugins.page.store import SqlPushSubscriptions

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


class SigningKey:
    """The store's key, created on first use: all processes over a store sign with it, because a
    subscription works with one key only.
    """

    def __init__(self, store: SqlPushSubscriptions) -> None:
        self._store = store
        self._key: EllipticCurvePrivateKey | None = None

    async def get(self) -> EllipticCurvePrivateKey:
        """Raises ConfigError for an unreadable key, and StoreError."""
        if self._key is None:
            pem = await self._store.key()
            if pem is None:
                pem = await self._store.offer_key(await asyncio.to_thread(_new))
            self._key = await asyncio.to_thread(key_of, pem)
        return self._key


def key_of(pem: str) -> EllipticCurvePrivateKey:
    """Raises ConfigError for a text that is not such a key."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    try:
        key = serialization.load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the key that signs notifications cannot be read: {error}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
        raise ConfigError("the key that signs notifications is not one of the curve P-256")
    return key


def _new() -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    made = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made.decode()
