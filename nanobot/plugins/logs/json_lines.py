"""Log lines as JSON, one object per line, with the ids that link it to a run."""

from __future__ import annotations

import traceback
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.log_context import LOG_IDS
from nanobot.plugins.common.runs.trace_ids import trace_id

if TYPE_CHECKING:
    from loguru import Record

_MOST_TEXT = 20_000
_LINE = "json_line"


def as_json(record: Record) -> str:
    """For loguru's `format`: the placeholder for the line within the record, and a newline."""
    record["extra"][_LINE] = line_of(record)
    return f"{{extra[{_LINE}]}}\n"


def line_of(record: Record) -> str:
    """A record as one line. Secrets have already been removed from its message and traceback."""
    event: dict[str, Any] = {
        "time": record["time"].astimezone(UTC).isoformat(timespec="milliseconds"),
        "level": record["level"].name.lower(),
        "message": record["message"][:_MOST_TEXT],
        "logger": record["name"],
        **LOG_IDS.get()(),
        **{name: value for name, value in record["extra"].items() if name != _LINE},
    }
    kept = str(event.pop("kept", ""))
    if isinstance(event.get("run"), str):
        event["trace"] = trace_id(event["run"], kept)
    failure = record["exception"]
    if failure is not None and failure.value is not None:
        event["error"] = failure.type.__name__ if failure.type else "error"
        event["stack"] = "".join(traceback.format_exception(failure.value))[-_MOST_TEXT:]
    whole = {name: _encodable(value) for name, value in event.items()}
    text = msgspec.json.encode(whole, enc_hook=str).decode("utf-8", "replace")
    # Characters that control a terminal, or that some programs treat as the end of a line.
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _encodable(value: Any) -> Any:
    """A lone surrogate cannot be encoded as UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _escaped(character: str) -> str:
    written = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{written[at : at + 4]}" for at in range(0, len(written), 4))
