"""Tables of access: pairings, tokens for HTTP, and browsers that receive push notifications."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Role
from nanobot.store.database.tables import metadata, words

# Named tokens, and logged-in browsers (each has a token in a cookie).
access_tokens = sa.Table(
    "access_tokens",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False, info=words("token", "browser")),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False, info=words(*Role)),
    sa.Column("made_at", sa.Double, nullable=False),
    sa.Column("used_at", sa.Double),
    sa.Column("expires_at", sa.Double),
    sqlite_with_rowid=False,
)

# Browsers that subscribed to notifications. `login` is the digest of the token that the browser
# logged in with; removing the token removes the row. `told` is the number of the last approval that
# was pushed.
push_subscriptions = sa.Table(
    "push_subscriptions",
    metadata,
    sa.Column("login", sa.Text, primary_key=True),
    sa.Column("endpoint", sa.Text, nullable=False),
    sa.Column("p256dh", sa.Text, nullable=False),
    sa.Column("auth", sa.Text, nullable=False),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("told", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Pairing requests, and the people who were admitted, in addition to the owners and members of the
# configuration.
pairings = sa.Table(
    "pairings",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("sender_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, info=words("asked", "approved", "revoked")),
    # None yet, while the approval is pending.
    sa.Column("role", sa.Text, nullable=False, info=words(*Role, "")),
    sa.Column("code", sa.Text),
    sa.Column("asked_at", sa.Double, nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
    sa.Column("decided_at", sa.Double),
    sa.Column("decided_by", sa.Text),
    sqlite_with_rowid=False,
)
