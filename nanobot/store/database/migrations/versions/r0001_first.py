"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything a message needs on its way."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "channels",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("cursor", sa.Text),
        sa.Column("account", sa.Integer, nullable=False, server_default="0"),
    )
    op.create_table(
        "channel_accounts",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("identity", sa.Text, primary_key=True),
        sa.Column("account", sa.Integer, nullable=False),
        sa.Column("cursor", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sessions",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("title", sa.Text, nullable=False, server_default=""),
        sa.Column("model", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("last_read_at", sa.Double),
        sa.Column("head_seq", big, nullable=False, server_default="0"),
        sa.Column("head_hash", sa.LargeBinary, nullable=False),
        sa.Column("window_from", big, nullable=False, server_default="1"),
        sa.Column("prompt", sa.Text),
        sa.Column("prompt_variant", sa.Text),
        sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("remembered_seq", big, nullable=False, server_default="0"),
        sa.Column("token", big, nullable=False, server_default="0"),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", sa.Double),
    )
    op.create_table(
        "entries",
        sa.Column("session_key", sa.Text, primary_key=True),
        sa.Column("seq", big, primary_key=True, autoincrement=False),
        *_texts("run_id", "kind"),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("payload", sa.LargeBinary),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "prompts",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    _queues(big)
    _model_call_costs(big)


def _queues(big: sa.types.TypeEngine[int]) -> None:
    op.create_table(
        "prompt_uses",
        sa.Column("session_key", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True, index=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "erasures",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "inbound",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        *_texts("session_key", "channel", "chat_id", "dedupe_key"),
        *_texts("sender_id", "role", "origin", "state"),
        sa.Column("account", sa.Integer, nullable=False, server_default="0"),
        sa.Column("run_id", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
        sa.Column("awaiting_files", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("channel", "chat_id", "dedupe_key", "account", name="inbound_once"),
    )
    _partial("inbound_open", "inbound", ["session_key", "id"], "inbound.state != 'settled'")
    spoken = "inbound.origin = 'user'"
    _partial("inbound_spoken", "inbound", ["channel", "chat_id", "id"], spoken)
    owners = "inbound.origin = 'user' AND inbound.role = 'owner'"
    _partial("inbound_owners", "inbound", ["channel", "id"], owners)
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("session_key", "kind", "state"),
        sa.Column("parent", sa.Text),
        sa.Column("parent_session", sa.Text),
        *_texts("origin", "channel", "chat_id"),
        sa.Column("thread_id", sa.Text),
        *_texts("sender_id", "role"),
        sa.Column("reply_to", sa.Text),
        sa.Column("first_seq", big, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("progress", sa.Integer, nullable=False),
        sa.Column("usage", sa.LargeBinary),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sqlite_with_rowid=False,
    )
    live = "runs.state NOT IN ('completed', 'failed', 'aborted')"
    _partial("runs_live", "runs", ["session_key"], live)
    unsuccessful = "runs.state IN ('failed', 'aborted')"
    _partial("runs_unsuccessful", "runs", ["state", "id"], unsuccessful)
    ended = "runs.state IN ('completed', 'failed', 'aborted')"
    _partial("runs_ended", "runs", ["session_key", "id"], ended)
    _partial("runs_children", "runs", ["session_key"], "runs.parent_session IS NOT NULL")
    _partial("runs_below", "runs", ["parent_session"], "runs.parent_session IS NOT NULL")
    _partial("runs_of_people", "runs", ["channel", "chat_id", "id"], "runs.origin = 'user'")
    op.create_table(
        "tasks",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        *_texts("type", "title"),
        sa.Column("input", sa.LargeBinary, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("tainted", sa.Boolean, nullable=False),
        sa.Column("not_before", sa.Double, nullable=False),
        sa.Column("deadline", sa.Double),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outbound",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        *_texts("session_key", "run_id", "channel", "chat_id"),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
        sa.Column("maybe_duplicate", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("duplicate_sends", sa.Integer, nullable=False, server_default="0"),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("settled_at", sa.Double),
    )
    waiting = "outbound.state IN ('pending', 'sending')"
    _partial("outbound_open", "outbound", ["channel", "chat_id", "id"], waiting)
    chat = ["channel", "chat_id", "id"]
    _partial("outbound_dead", "outbound", ["id"], "outbound.state = 'dead'")
    _partial("outbound_held", "outbound", chat, "outbound.state = 'held'")
    _partial("outbound_chat", "outbound", chat, "outbound.state NOT IN ('preview', 'direct')")
    op.create_table(
        "outbound_parts",
        sa.Column("outbound_id", big, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        *_texts("key", "state"),
        sa.Column("receipt", sa.Text),
        sa.Column("file", sa.LargeBinary),
        sa.Column("began_at", sa.Double),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "channel_leases",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text),
        sa.Column("until", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "moved_chats",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        *_texts("channel", "platform_id", "chat_id"),
        sa.UniqueConstraint("channel", "platform_id", name="moved_once"),
    )
    op.create_table(
        "unreachable_chats",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("chat_id", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "background_commands",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        *_texts("session_key", "channel", "chat_id"),
        sa.Column("thread_id", sa.Text),
        *_texts("sender_id", "role", "command", "owner"),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
    )
    op.create_table(
        "pairings",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("sender_id", sa.Text, primary_key=True),
        *_texts("name", "chat_id", "state", "role"),
        sa.Column("code", sa.Text),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("decided_at", sa.Double),
        sa.Column("decided_by", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "approvals",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("session_key", sa.Text, nullable=False, index=True),
        *_texts("run_id", "state"),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    unanswered = "approvals.state IN ('waiting', 'detached')"
    _partial("approvals_open", "approvals", ["run_id"], unanswered)
    op.create_table(
        "approval_rules",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        *_texts("session_key", "tool", "subject"),
        sa.Column("tainted", sa.Boolean, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    _memories(big)
    _by_the_clock(big)


def _memories(big: sa.types.TypeEngine[int]) -> None:
    op.create_table(
        "memories",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        *_texts("text", "terms", "state", "kind"),
        sa.Column("provenance", sa.LargeBinary, nullable=False),
        sa.Column("file", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("model", sa.Text),
        sa.UniqueConstraint("scope", "digest", name="memories_once"),
        sa.Index("memories_of_scope", "scope", "state", "id"),
        sa.Index("memories_in_file", "scope", "state", "file"),
        sa.Index("memories_in_state", "state", "id"),
        sa.Index("memories_of_model", "state", "model"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "memory_vectors",
        sa.Column("id", big, primary_key=True, autoincrement=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("seq", big, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Index("memory_vectors_of_scope", "scope", "seq"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX memories_terms ON memories "
            "USING gin (to_tsvector('simple'::regconfig, terms))"
        )
        return
    op.execute(
        "CREATE VIRTUAL TABLE memories_fts USING fts5(terms, content='memories', "
        "content_rowid='id', tokenize='unicode61 remove_diacritics 0 categories ''L* N* Co M*''')"
    )
    op.execute(
        "CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN "
        "INSERT INTO memories_fts (rowid, terms) VALUES (new.id, new.terms); END"
    )
    op.execute(
        "CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN "
        "INSERT INTO memories_fts (memories_fts, rowid, terms) "
        "VALUES ('delete', old.id, old.terms); END"
    )


def _model_call_costs(big: sa.types.TypeEngine[int]) -> None:
    op.create_table(
        "model_call_costs",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("call", sa.Integer, nullable=False),
        sa.Column("root", sa.Text, nullable=False, index=True),
        *_texts("session_key", "day"),
        sa.Column("at", sa.Double, nullable=False),
        *_texts("person", "chat", "job", "model", "state"),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("tokens_in", big, nullable=False),
        sa.Column("tokens_out", big, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("price_in", sa.Double),
        sa.Column("price_out", sa.Double),
        sa.Column("price_cached", sa.Double),
    )
    _partial("calls_open", "model_call_costs", ["session_key"], "model_call_costs.state = 'open'")
    op.create_table(
        "usage_totals",
        sa.Column("day", sa.Text, primary_key=True),
        sa.Column("level", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("requests", big, nullable=False),
        sa.Column("tokens_in", big, nullable=False),
        sa.Column("tokens_out", big, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("unpriced", big, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table("budget_warnings", *_keys("day", "chat", "of"), sqlite_with_rowid=False)
    op.create_table(
        "tainted_files",
        *_keys("kind", "name"),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _by_the_clock(big: sa.types.TypeEngine[int]) -> None:
    op.create_table(
        "notifications",
        sa.Column("key", sa.Text, primary_key=True),
        *_texts("channel", "chat_id", "person"),
        sa.Column("at", sa.Double, nullable=False, index=True),
        sa.Index("notifications_of_chat", "channel", "chat_id", "at"),
        sa.Index("notifications_of_person", "person", "at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "jobs",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("name", sa.Text, nullable=False, index=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False, index=True),
        *_texts("channel", "chat_id"),
        sa.Column("reason", sa.Text),
        sa.Column("notice_due", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("call_key", sa.Text, unique=True),
        sa.Column("next_at", sa.Double),
        sa.Column("next_due", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Index("jobs_of_chat", "channel", "chat_id"),
    )
    _partial("jobs_due", "jobs", ["next_due"], "jobs.state = 'active'")
    _partial("jobs_notice", "jobs", ["id"], "jobs.notice_due")
    op.create_table(
        "occurrences",
        sa.Column("job_id", big, primary_key=True, autoincrement=False),
        sa.Column("scheduled_at", sa.Double, primary_key=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("session_key", sa.Text, nullable=False, server_default=""),
        sa.Column("inbound_id", big),
        sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
        sa.Column("retry_at", sa.Double),
        sa.Column("call_key", sa.Text, unique=True),
        sa.Column("error", sa.Text),
        sa.Column("fired_at", sa.Double, nullable=False, index=True),
        sa.Column("ended_at", sa.Double, index=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    unended = "occurrences.status IN ('running', 'waiting')"
    _partial("occurrences_open", "occurrences", ["job_id", "scheduled_at"], unended)
    _partial("occurrences_running", "occurrences", ["session_key"], unended)
    waiting = "occurrences.status = 'waiting'"
    _partial("occurrences_waiting", "occurrences", ["retry_at"], waiting)
    op.create_table(
        "trigger_state",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
    )


def _partial(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _keys(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, primary_key=True) for name in names]
