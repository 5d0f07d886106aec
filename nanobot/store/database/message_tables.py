"""The tables on the way of a message: sessions with their logs, runs, what waits, what is sent."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_args

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable
from nanobot.messages import Attachment, InboundMessage, Origin, OutboundMessage, Role
from nanobot.session import approvals as waits
from nanobot.session import entries as log
from nanobot.session.chain import GENESIS
from nanobot.session.runs import PromptSnapshot, RunUsage
from nanobot.session.states import RunKind, RunState
from nanobot.store.database.tables import Id, decoded, metadata, next_id, partial, words

Files: TypeAlias = Attachment | Annotated[list[Attachment], msgspec.Meta(min_length=1)]
"""The files of a part: a single one as a value, several as a list."""

# Partial indexes: SQLite uses one only for a query with exactly the same literal condition.
INBOUND_OPEN = sa.text("inbound.state != 'settled'")
APPROVAL_OPEN = sa.text("approvals.state IN ('waiting', 'detached')")
RUN_LIVE = sa.text("runs.state NOT IN ('completed', 'failed', 'aborted')")
# Separate from the index of live runs: otherwise SQLite would search for those among all runs of a
# session.
RUN_ENDED = sa.text("runs.state IN ('completed', 'failed', 'aborted')")
RUN_UNSUCCESSFUL = sa.text("runs.state IN ('failed', 'aborted')")
RUN_CHILD = sa.text("runs.parent_session IS NOT NULL")
OUTBOUND_OPEN = sa.text("outbound.state IN ('pending', 'sending')")
OUTBOUND_DEAD = sa.text("outbound.state = 'dead'")
OUTBOUND_HELD = sa.text("outbound.state = 'held'")
OUTBOUND_PREVIEW = sa.text("outbound.state = 'preview'")
INBOUND_SPOKEN = sa.text("inbound.origin = 'user'")
INBOUND_OWNERS = sa.text("inbound.origin = 'user' AND inbound.role = 'owner'")
RUN_OF_PERSON = sa.text("runs.origin = 'user'")
OUTBOUND_FOR_CHAT = sa.text("outbound.state NOT IN ('preview', 'direct')")

_PART_STATES = ("pending", "sending", "sent", "preview")


def _hash(value: bytes) -> None:
    if len(value) != len(GENESIS):
        raise RowUnreadable(f"a hash has {len(GENESIS)} bytes and this has {len(value)}")


def _default(value: object) -> dict[str, Any]:
    """The `info` of a column whose unreadable values are replaced by this one."""
    return {"default": lambda _: value}


_HASH: dict[str, Any] = {"decode": _hash, **_default(GENESIS)}
_YES: dict[str, Any] = {"default": lambda _: True}
_NOW: dict[str, Any] = {"default": lambda now: now}


def _unused_token(now: float) -> int:
    return int(now * 1000)


channels = sa.Table(
    "channels",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("cursor", sa.Text),
    # Which of the channel's accounts it uses now; 0 is the first, or one that never identifies
    # itself.
    sa.Column("account", sa.Integer, nullable=False, server_default="0"),
)

# The accounts that a channel has had on its platform, each with its cursor.
channel_accounts = sa.Table(
    "channel_accounts",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("identity", sa.Text, primary_key=True),
    sa.Column("account", sa.Integer, nullable=False),
    sa.Column("cursor", sa.Text),
    sqlite_with_rowid=False,
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False, server_default="", info=_default("")),
    sa.Column("model", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False, info=_NOW),
    sa.Column("updated_at", sa.Double, nullable=False, info=_NOW),
    sa.Column("last_read_at", sa.Double),
    sa.Column("head_seq", Id, nullable=False, server_default="0"),
    sa.Column("head_hash", sa.LargeBinary, nullable=False, info=_HASH),
    sa.Column("window_from", Id, nullable=False, server_default="1", info=_default(1)),
    sa.Column("prompt", sa.Text),
    sa.Column("prompt_variant", sa.Text),
    # Several people read this session: a member of a group has written in it.
    sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false(), info=_YES),
    # Everything up to this entry has been processed for memory.
    sa.Column("remembered_seq", Id, nullable=False, server_default="0"),
    # The lane's lease: `token` grows with every claim and fences every write. In place of an
    # unreadable one, one that was never used.
    sa.Column("token", Id, nullable=False, server_default="0", info={"default": _unused_token}),
    sa.Column("owner", sa.Text),
    sa.Column("lease_until", sa.Double, info={"lease": True}),
)

THIS_SESSION = sessions.c.key == sa.bindparam("k")
"""Of prepared statements about one session."""

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("seq", Id, primary_key=True, autoincrement=False),
    sa.Column("run_id", sa.Text, nullable=False, info=_default("")),
    sa.Column("kind", sa.Text, nullable=False, info=words(*log.kinds()) | _default("post")),
    # It is part of the chain and only displayed.
    sa.Column("at", sa.Double, nullable=False, info={"any_time": True, **_default(0.0)}),
    sa.Column("salt", sa.LargeBinary),
    sa.Column("payload", sa.LargeBinary, info={"decode": log.decode}),
    sa.Column("digest", sa.LargeBinary, nullable=False, info=_HASH),
    sa.Column("hash", sa.LargeBinary, nullable=False, info=_HASH),
    sqlite_with_rowid=False,
    info={"large": True},
)

# Feedback on answers is rare, and looked up by run.
FEEDBACK = sa.literal_column("kind") == sa.literal_column("'feedback'")
partial("entries_feedback", FEEDBACK, entries.c.run_id, entries.c.seq)

prompts = sa.Table(
    "prompts",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False, info=decoded(PromptSnapshot)),
    info={"large": True},
)

# Which sessions used a prompt: the prompt is removed with the last of them.
prompt_uses = sa.Table(
    "prompt_uses",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True, index=True),
    sqlite_with_rowid=False,
    info={"large": True},
)

inbound = sa.Table(
    "inbound",
    metadata,
    next_id("inbound"),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("dedupe_key", sa.Text, nullable=False),
    sa.Column("sender_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False, info=words(*Role)),
    sa.Column("origin", sa.Text, nullable=False, info=words(*Origin)),
    sa.Column(
        "state",
        sa.Text,
        nullable=False,
        info=words("pending", "performing", "taken", "settled"),
    ),
    # The account of the channel that received it: each account numbers its messages independently.
    sa.Column("account", sa.Integer, nullable=False, server_default="0"),
    sa.Column("run_id", sa.Text),
    sa.Column("at", sa.Double, nullable=False),
    # Held back until this time: parts of a group wait for each other, and bursts are collected.
    sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
    # Its files are being fetched: it cannot be claimed before they have arrived, or are known to be
    # unavailable.
    sa.Column("awaiting_files", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("body", sa.LargeBinary, nullable=False, info=decoded(InboundMessage)),
    sa.UniqueConstraint("channel", "chat_id", "dedupe_key", "account", name="inbound_once"),
    info={"in_use": INBOUND_OPEN},
)
partial("inbound_open", INBOUND_OPEN, inbound.c.session_key, inbound.c.id)
partial("inbound_spoken", INBOUND_SPOKEN, inbound.c.channel, inbound.c.chat_id, inbound.c.id)
partial("inbound_owners", INBOUND_OWNERS, inbound.c.channel, inbound.c.id)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, info=words(*RunKind)),
    sa.Column("state", sa.Text, nullable=False, info=words(*RunState)),
    sa.Column("parent", sa.Text),
    # The conversation that is told how a background run ended.
    sa.Column("parent_session", sa.Text),
    sa.Column("origin", sa.Text, nullable=False, info=words(*Origin)),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("thread_id", sa.Text),
    sa.Column("sender_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False, info=words(*Role)),
    sa.Column("reply_to", sa.Text),
    sa.Column("first_seq", Id, nullable=False),
    # The number of crashes without progress (a reply or a tool result) since the last progress.
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("progress", sa.Integer, nullable=False),
    sa.Column("usage", sa.LargeBinary, info=decoded(RunUsage)),
    sa.Column("error", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    sqlite_with_rowid=False,
    info={"in_use": RUN_LIVE},
)
partial("runs_live", RUN_LIVE, runs.c.session_key)
partial("runs_unsuccessful", RUN_UNSUCCESSFUL, runs.c.state, runs.c.id)
partial("runs_ended", RUN_ENDED, runs.c.session_key, runs.c.id)
partial("runs_children", RUN_CHILD, runs.c.session_key)
partial("runs_below", RUN_CHILD, runs.c.parent_session)
partial("runs_of_people", RUN_OF_PERSON, runs.c.channel, runs.c.chat_id, runs.c.id)

outbound = sa.Table(
    "outbound",
    metadata,
    next_id("outbound"),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False, info=decoded(OutboundMessage)),
    sa.Column(
        "state",
        sa.Text,
        nullable=False,
        info=words(*_PART_STATES, "dead", "held", "direct", "digested", "dropped"),
    ),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
    sa.Column("maybe_duplicate", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("duplicate_sends", sa.Integer, nullable=False, server_default="0"),
    sa.Column("error", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("settled_at", sa.Double),
    info={"in_use": OUTBOUND_OPEN},
)
partial("outbound_open", OUTBOUND_OPEN, outbound.c.channel, outbound.c.chat_id, outbound.c.id)
partial("outbound_dead", OUTBOUND_DEAD, outbound.c.id)
partial("outbound_held", OUTBOUND_HELD, outbound.c.channel, outbound.c.chat_id, outbound.c.id)
partial("outbound_chat", OUTBOUND_FOR_CHAT, outbound.c.channel, outbound.c.chat_id, outbound.c.id)

outbound_parts = sa.Table(
    "outbound_parts",
    metadata,
    sa.Column("outbound_id", Id, primary_key=True, autoincrement=False),
    sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, info=words(*_PART_STATES)),
    sa.Column("receipt", sa.Text),
    sa.Column("file", sa.LargeBinary, info=decoded(Files)),
    # When the first send with an unknown outcome began.
    sa.Column("began_at", sa.Double),
    sqlite_with_rowid=False,
    info={"large": True},
)

# Chats that continue under another id on their platform. They keep `chat_id`, the id by which they
# were first known. The newest row of a chat holds its current id.
moved_chats = sa.Table(
    "moved_chats",
    metadata,
    next_id("moved_chats"),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("platform_id", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.UniqueConstraint("channel", "platform_id", name="moved_once"),
)

# Chats that their platform refuses (the bot was removed or blocked), until they write again.
unreachable_chats = sa.Table(
    "unreachable_chats",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("chat_id", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)

# Questions to people, before a call or for an answer; the body is an Approval.
approvals = sa.Table(
    "approvals",
    metadata,
    next_id("approvals"),
    sa.Column("session_key", sa.Text, nullable=False, index=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, info=words(*get_args(waits.State))),
    sa.Column("body", sa.LargeBinary, nullable=False, info=decoded(waits.Approval)),
    info={"in_use": APPROVAL_OPEN},
)
partial("approvals_open", APPROVAL_OPEN, approvals.c.run_id)
