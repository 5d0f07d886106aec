"""HTTP access tokens over SQL. The tokens themselves are not stored, only their hashes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import msgspec
import sqlalchemy as sa

from nanobot.errors import UnknownId, UsageError
from nanobot.messages import Role
from nanobot.plugins.common.store import access_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.results import as_struct
from nanobot.store.verbs import SqlStore, transaction

BROWSER_OF = " (browser"
"""The suffix of a token's name in the name of a browser that logged in with it."""

_AT_ONCE = 200
_a = access_tables.access_tokens
_s = access_tables.push_subscriptions
_MOST = 1_000


class AccessToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token, identified by its digest. `kind`: used by a program or a browser. `expires_at` None:
    never; `used_at`: roughly when it was last used.
    """

    digest: str
    kind: Literal["token", "browser"]
    name: str
    role: Role
    made_at: float
    used_at: float | None = None
    expires_at: float | None = None


class SqlAccessTokens(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction("add_access_token")
    def add(self, connection: Connection, token: AccessToken) -> AccessToken:
        """Store it, and remove expired tokens. If a browser's name is in use, append a number.
        Raises UsageError if the name of a token is in use.
        """
        alone(connection, "access_tokens")
        expired = sa.select(_a.c.digest).where(_a.c.expires_at <= token.made_at)
        _remove(connection, list(connection.scalars(expired)))
        count = sa.select(sa.func.count()).select_from(_a)
        if (connection.scalar(count) or 0) >= _MOST:
            raise UsageError(f"there are {_MOST:,} tokens already: revoke some first")
        if _is_taken(connection, token.name):
            if token.kind == "token":
                raise UsageError(
                    f"there is a token called {token.name!r} already: choose another name"
                )
            # From the count on, because a browser may log in thousands of times.
            alike = _a.c.name.startswith(f"{token.name} ", autoescape=True)
            begin = connection.scalar(count.where(alike)) or 0
            names = (f"{token.name} {number}" for number in itertools.count(begin + 2))
            free = next(name for name in names if not _is_taken(connection, name))
            token = msgspec.structs.replace(token, name=free)
        connection.execute(sa.insert(_a), msgspec.structs.asdict(token))
        return token

    @transaction()
    def of(self, connection: Connection, digest: str) -> AccessToken | None:
        """The token with that digest, expired or not."""
        row = connection.execute(sa.select(_a).where(_a.c.digest == digest)).first()
        return None if row is None else as_struct(row, AccessToken)

    @transaction()
    def used(self, connection: Connection, digest: str, at: float) -> None:
        connection.execute(sa.update(_a).where(_a.c.digest == digest).values(used_at=at))

    async def listed(self) -> list[AccessToken]:
        """All tokens, the newest first."""
        tokens = await self._some(None)
        some = tokens[:]
        while some:
            some = await self._some(tokens[-1].digest)
            tokens += some
        return sorted(tokens, key=lambda token: (-token.made_at, token.name))

    @transaction()
    def _some(self, connection: Connection, after: str | None) -> list[AccessToken]:
        query = sa.select(_a).order_by(_a.c.digest).limit(_AT_ONCE)
        if after is not None:
            query = query.where(_a.c.digest > after)
        return [as_struct(row, AccessToken) for row in connection.execute(query)]

    @transaction("remove_access_token")
    def remove(self, connection: Connection, name: str) -> list[AccessToken]:
        """Revoke it, together with the browsers that logged in with it; these follow it in the
        result. Raises UnknownId.
        """
        row = connection.execute(sa.select(_a).where(_a.c.name == name)).first()
        if row is None:
            raise UnknownId(
                f"There is no token {name[:60]!r}; `web tokens list` shows those there are."
            )
        rows = [row]
        if row.kind == "token":
            browsers = connection.execute(sa.select(_a).where(_a.c.kind == "browser")).all()
            # SQLite's LIKE matches "Anna" for "anna".
            rows += [each for each in browsers if each.name.startswith(f"{name}{BROWSER_OF}")]
        removed = [as_struct(each, AccessToken) for each in rows]
        _remove(connection, [token.digest for token in removed])
        return removed


def _is_taken(connection: Connection, name: str) -> bool:
    return connection.execute(sa.select(_a.c.name).where(_a.c.name == name)).first() is not None


def _remove(connection: Connection, digests: Sequence[str]) -> None:
    """Remove these, and the push subscriptions of the browsers among them."""
    if digests:
        connection.execute(sa.delete(_s).where(_s.c.login.in_(digests)))
        connection.execute(sa.delete(_a).where(_a.c.digest.in_(digests)))
