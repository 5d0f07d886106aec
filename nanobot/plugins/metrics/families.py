"""All metric families: the single definition behind /metrics, OTLP and docs/metrics.md."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

SECONDS = tuple(0.01 * 2**step for step in range(14))
"""0.01 to 81.92: the bucket bounds of OpenTelemetry's GenAI conventions."""
SHORT = tuple(0.0001 * 2**step for step in range(16))
"""0.0001 to 3.28: for durations of milliseconds."""
_UNITS = {"s": "_seconds", "By": "_bytes", "1": "_ratio"}


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One family. `name` is the Prometheus name without `nanobot_`; `unit` is written as in
    OpenTelemetry. `bounds`: the buckets of a histogram.
    """

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    bounds: tuple[float, ...] = ()

    @property
    def otlp_name(self) -> str:
        """The OpenTelemetry name. A collector that forwards it to Prometheus adds the unit and
        `_total`, so that the name matches /metrics.
        """
        return f"nanobot.{self.name.removesuffix('_total').removesuffix(_UNITS.get(self.unit, ''))}"


def _counter(name: str, about: str, *labels: str, unit: str = "") -> Family:
    return Family(name=name, kind="counter", about=about, labels=labels, unit=unit)


def _gauge(name: str, about: str, *labels: str, unit: str = "") -> Family:
    return Family(name=name, kind="gauge", about=about, labels=labels, unit=unit)


def _seconds(name: str, about: str, *labels: str, bounds: tuple[float, ...] = SECONDS) -> Family:
    return Family(name=name, kind="histogram", about=about, labels=labels, unit="s", bounds=bounds)


RUNS = _counter("runs_total", "Runs that ended.", "state", unit="{run}")
TOOL_CALLS = _counter("tool_calls_total", "Tool calls.", "tool", "outcome", unit="{call}")
MODEL_CALLS = _counter("model_calls_total", "Answers of models.", unit="{call}")
TOKENS = _counter("tokens_total", "Tokens of models.", "kind", unit="{token}")
CACHED = _counter(
    "cached_tokens_total", "Tokens of prompts that a provider had in its cache.", unit="{token}"
)
COST = _counter("cost_dollars_total", "What models cost, where the price is known.", unit="{USD}")

TURN = _seconds("turn_seconds", "Run time of an answer, without waits for people.", "channel")
FIRST_WORD = _seconds(
    "first_word_seconds", "From the start of a run to the first piece of its answer.", "channel"
)
MODEL_CALL = _seconds("model_call_seconds", "A call of a model, retries included.", "model")
TOOL_CALL = _seconds("tool_call_seconds", "A call of a tool.", "tool")
TO_CLAIM = _seconds(
    "admission_to_claim_seconds", "From storing a message to the start of its run.", "channel"
)
TO_RECEIPT = _seconds(
    "claim_to_receipt_seconds",
    "From the start of a run to the receipt of its last answer, waits for people included.",
    "channel",
)
TRANSACTION = _seconds(
    "store_transaction_seconds", "A transaction, with its wait for the others.", bounds=SHORT
)
SYNC = _seconds(
    "store_sync_seconds", "A commit that waits for the disk (fsync). SQLite only.", bounds=SHORT
)
LAG = _seconds(
    "event_loop_lag_seconds", "How late the event loop ran a timer. Sampled.", bounds=SHORT
)

UPTIME = _gauge("uptime_seconds", "Since the start.", unit="s")
SESSIONS = _gauge("sessions", "Conversations.", unit="{session}")
RUNNING = _gauge("runs_running", "Runs in progress.", unit="{run}")
INBOX = _gauge("inbox_messages", "Messages that wait for a run.", unit="{message}")
OUTBOX = _gauge("outbox_messages", "Unsent messages, and dead ones.", "state", unit="{message}")
CHANNEL_UP = _gauge("channel_up", "1 if a channel is connected, else 0.", "channel")
OLDEST_WAITING = _gauge(
    "oldest_waiting_message_seconds",
    "Age of the oldest message that waits for a run.",
    "channel",
    unit="s",
)
OLDEST_UNSENT = _gauge(
    "oldest_unsent_answer_seconds",
    "Age of the oldest message that is still to be sent.",
    "channel",
    unit="s",
)
DEAD = _gauge("dead_messages", "Messages that could not be sent.", "channel", unit="{message}")
BUDGET = _gauge(
    "budget_used_ratio", "Share of a daily limit for everybody that is used.", "measure", unit="1"
)
LEASES = _gauge("leases", "Leases that are held.", "kind", unit="{lease}")
STORE_SIZE = _gauge("store_size_bytes", "Size of the database.", unit="By")
DISK_FREE = _gauge("disk_free_bytes", "Free space on the disk of the home.", unit="By")
DISK_SIZE = _gauge("disk_size_bytes", "Size of the disk of the home.", unit="By")

FAMILIES: tuple[Family, ...] = (
    *(RUNS, TURN, FIRST_WORD, MODEL_CALLS, MODEL_CALL, TOKENS, CACHED, COST, TOOL_CALLS, TOOL_CALL),
    *(TO_CLAIM, TO_RECEIPT, TRANSACTION, SYNC, LAG),
    *(UPTIME, SESSIONS, RUNNING, INBOX, OLDEST_WAITING, OUTBOX, OLDEST_UNSENT, DEAD, CHANNEL_UP),
    *(BUDGET, LEASES, STORE_SIZE, DISK_FREE, DISK_SIZE),
)
