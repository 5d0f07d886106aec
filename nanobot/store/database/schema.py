"""The tables. Every migration makes the same change here; a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import (
    access_tables,
    file_tables,
    job_tables,
    memory_tables,
    message_tables,
    quarantine_tables,
    removal_tables,
    search_tables,
    tables,
    task_tables,
    tool_tables,
    usage_tables,
)

MIN_READER = 1
"""Older programs, which know a smaller number, must not open the store."""

metadata = tables.metadata
meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

jobs, occurrences = job_tables.jobs, job_tables.occurrences
notifications, trigger_state = job_tables.notifications, job_tables.trigger_state

CALL_OPEN = usage_tables.CALL_OPEN
model_call_costs, budget_warnings = usage_tables.model_call_costs, usage_tables.budget_warnings
usage_totals, usage_changes = usage_tables.usage_totals, usage_tables.usage_changes

JOB_ACTIVE, JOB_NOTICE = job_tables.JOB_ACTIVE, job_tables.JOB_NOTICE
OCCURRENCE_OPEN = job_tables.OCCURRENCE_OPEN
OCCURRENCE_WAITING = job_tables.OCCURRENCE_WAITING

INBOUND_OPEN = message_tables.INBOUND_OPEN
APPROVAL_OPEN = message_tables.APPROVAL_OPEN
RUN_LIVE = message_tables.RUN_LIVE
RUN_ENDED = message_tables.RUN_ENDED
RUN_UNSUCCESSFUL = message_tables.RUN_UNSUCCESSFUL
RUN_CHILD = message_tables.RUN_CHILD
OUTBOUND_OPEN = message_tables.OUTBOUND_OPEN
OUTBOUND_DEAD = message_tables.OUTBOUND_DEAD
OUTBOUND_HELD = message_tables.OUTBOUND_HELD
OUTBOUND_PREVIEW = message_tables.OUTBOUND_PREVIEW
INBOUND_SPOKEN = message_tables.INBOUND_SPOKEN
INBOUND_OWNERS = message_tables.INBOUND_OWNERS
RUN_OF_PERSON = message_tables.RUN_OF_PERSON
OUTBOUND_FOR_CHAT = message_tables.OUTBOUND_FOR_CHAT
FEEDBACK = message_tables.FEEDBACK
channels = message_tables.channels
channel_accounts = message_tables.channel_accounts
sessions = message_tables.sessions
entries = message_tables.entries
archived_logs = removal_tables.archived_logs
prompts = message_tables.prompts
prompt_uses = message_tables.prompt_uses
erasures = removal_tables.erasures
inbound = message_tables.inbound
runs = message_tables.runs
tasks = task_tables.tasks
outbound = message_tables.outbound
outbound_parts = message_tables.outbound_parts
voice_answers = task_tables.voice_answers
channel_leases = message_tables.channel_leases
moved_chats = message_tables.moved_chats
unreachable_chats = message_tables.unreachable_chats
background_commands = tool_tables.background_commands
pairings = access_tables.pairings
approvals = message_tables.approvals
approval_rules = message_tables.approval_rules

memories = memory_tables.memories
memory_vectors = memory_tables.memory_vectors
tainted_files = file_tables.tainted_files
mcp_tools = tool_tables.mcp_tools
quarantine = quarantine_tables.quarantine
log_words, indexed_logs = search_tables.log_words, search_tables.indexed_logs
session_marks = search_tables.session_marks
access_tokens = access_tables.access_tokens
push_subscriptions, push_keys = access_tables.push_subscriptions, access_tables.push_keys
