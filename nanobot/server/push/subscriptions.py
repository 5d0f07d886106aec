"""The browsers that subscribed to notifications, and the key by which they know this gateway.

Both are files of the home: a subscription works with that key alone, which no other process has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from nanobot.errors import ConfigError, UsageError
from nanobot.messages import Role
from nanobot.server.push.message import PushKeys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

KEY_FILE = "push.pem"
FILE = "push.json"
_MOST = 200


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that subscribed. `login` and `since` name the cookie with which it did, by its name
    and when it was made: it is pushed nothing once that is gone. `told`: the number of the last
    approval that it was told of."""

    endpoint: str
    keys: PushKeys
    login: str
    since: float
    by: str
    role: Role
    session: str
    told: int = 0


class Subscriptions:
    """The subscribers of one home. Small: read once, and written whole."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._all: dict[str, Subscriber] | None = None

    def all(self) -> list[Subscriber]:
        return list(self._loaded().values())

    def keep(self, subscriber: Subscriber) -> None:
        """Add one, or keep what is known of it now. Raises UsageError where there are too many."""
        every = self._loaded()
        if subscriber.endpoint not in every and len(every) >= _MOST:
            raise UsageError(f"{_MOST} browsers are notified already: switch one of them off first")
        every[subscriber.endpoint] = subscriber
        self._write()

    def drop(self, endpoint: str) -> None:
        """It is pushed nothing any more."""
        if self._loaded().pop(endpoint, None) is not None:
            self._write()

    def key(self) -> EllipticCurvePrivateKey:
        """The key of this gateway, made at the first need. Raises ConfigError."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        path = self._home / KEY_FILE
        if not path.exists():
            made = ec.generate_private_key(ec.SECP256R1()).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            _keep(path, made)
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), None)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read ({error}): remove it") from None
        return cast("EllipticCurvePrivateKey", key)

    def _loaded(self) -> dict[str, Subscriber]:
        if self._all is None:
            try:
                raw = (self._home / FILE).read_bytes()
                kept = msgspec.json.decode(raw, type=list[Subscriber])
            except (FileNotFoundError, msgspec.DecodeError):
                kept = []
            self._all = {each.endpoint: each for each in kept}
        return self._all

    def _write(self) -> None:
        path = self._home / FILE
        if not self._loaded() and path.exists():
            path.unlink()
        else:
            _keep(path, msgspec.json.encode(self.all()))


def _keep(path: Path, content: bytes) -> None:
    from nanobot.config.file import write  # noqa: PLC0415 - loads what only changes need

    write(path, content)
