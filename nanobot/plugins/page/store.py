"""Push subscriptions over SQL, and the key that signs notifications. Each subscription belongs to a
browser's login, and the plugin `web_access` removes it with the login.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.plugins.common.store import access_tables
from nanobot.plugins.page import tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone, insert_ignore
from nanobot.store.database.results import as_struct
from nanobot.store.verbs import SqlStore, transaction

_s = access_tables.push_subscriptions
_k = tables.push_keys
_a = access_tables.access_tokens
_MOST = 200
_KEY = "vapid"


class PushSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscribed browser: the endpoint of its push service, and the encryption keys. `login` is
    the digest of its cookie, which determines its role; `session_key` is the conversation of its
    person. `told`: the number of the last approval pushed to it.
    """

    login: str
    endpoint: str
    p256dh: str
    auth: str
    by: str
    session_key: str
    told: int
    role: Role = Role.GUEST


class FormerSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription with only its name and the time of its login."""

    name: str
    made_at: float
    subscription: PushSubscription


class SqlPushSubscriptions(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def living(self, connection: Connection, now: float) -> list[PushSubscription]:
        """The subscriptions whose login has not expired."""
        query = (
            sa.select(_s, _a.c.role)
            .join(_a, _a.c.digest == _s.c.login)
            .where(_a.c.expires_at.is_(None) | (_a.c.expires_at > now))
            .order_by(_s.c.login)
        )
        return [as_struct(row, PushSubscription) for row in connection.execute(query)]

    @transaction()
    def login(self, connection: Connection, name: str) -> str | None:
        """The digest of the cookie of the browser with that name."""
        query = sa.select(_a.c.digest).where(_a.c.name == name, _a.c.kind == "browser")
        digest: str | None = connection.scalar(query)
        return digest

    @transaction("keep_push_subscription")
    def keep(self, connection: Connection, new: PushSubscription) -> None:
        """Store it, replacing the subscription of this login or this endpoint. What the same person
        was already told in the same browser stays marked as told, and nothing else. Raises
        UsageError if there are too many.
        """
        alone(connection, "push_subscriptions")
        _keep(connection, new)

    @transaction()
    def drop(self, connection: Connection, endpoint: str, by: str | None = None) -> None:
        """Stop pushing to it; with `by`, only if it belongs to that login."""
        query = sa.delete(_s).where(_s.c.endpoint == endpoint)
        connection.execute(query if by is None else query.where(_s.c.by == by))

    @transaction()
    def told(self, connection: Connection, endpoint: str, number: int) -> None:
        """It has been told of the approvals up to this one."""
        query = sa.update(_s).where(_s.c.endpoint == endpoint, _s.c.told < number)
        connection.execute(query.values(told=number))

    @transaction()
    def key(self, connection: Connection) -> str | None:
        """The key as PEM; None if there is none yet."""
        pem: str | None = connection.scalar(sa.select(_k.c.pem).where(_k.c.name == _KEY))
        return pem

    @transaction("offer_push_key")
    def offer_key(self, connection: Connection, pem: str) -> str:
        """The key in force: this one, unless one exists already."""
        insert_ignore(connection, _k, {"name": _KEY, "pem": pem})
        return str(connection.scalar(sa.select(_k.c.pem).where(_k.c.name == _KEY)))

    @transaction("bring_push_subscriptions")
    def bring(self, connection: Connection, pem: str, former: Sequence[FormerSubscription]) -> int:
        """Import a key with its subscriptions, and return their number. They work with that key
        only: they are skipped if another key is in use, and so are those whose login no longer
        exists.
        """
        alone(connection, "push_subscriptions")
        insert_ignore(connection, _k, {"name": _KEY, "pem": pem})
        if connection.scalar(sa.select(_k.c.pem).where(_k.c.name == _KEY)) != pem:
            return 0
        count = 0
        for each in former[:_MOST]:
            login = connection.scalar(
                sa.select(_a.c.digest).where(_a.c.name == each.name, _a.c.made_at == each.made_at)
            )
            if login is not None:
                _keep(connection, msgspec.structs.replace(each.subscription, login=login))
                count += 1
        return count


def _keep(connection: Connection, new: PushSubscription) -> None:
    same = sa.or_(_s.c.login == new.login, _s.c.endpoint == new.endpoint)
    told = connection.scalar(
        sa.select(_s.c.told).where(_s.c.endpoint == new.endpoint, _s.c.by == new.by).limit(1)
    )
    connection.execute(sa.delete(_s).where(same))
    if (connection.scalar(sa.select(sa.func.count()).select_from(_s)) or 0) >= _MOST:
        raise UsageError(f"{_MOST} browsers are notified already: switch one of them off first")
    values = {name: getattr(new, name) for name in _s.columns.keys()}  # noqa: SIM118 - no mapping
    connection.execute(sa.insert(_s), {**values, "told": new.told if told is None else told})
