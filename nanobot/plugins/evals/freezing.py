"""Makes a case from a run: the messages first shown to its model, and the recorded results of its
tools.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from nanobot.agent.context import context
from nanobot.errors import NanobotError
from nanobot.plugins.common.runs.ratings import ratings_among
from nanobot.plugins.common.runs.recorded import recorded_results
from nanobot.plugins.common.views.views import RunView
from nanobot.plugins.evals.cases import (
    SUFFIX,
    Call,
    Case,
    CaseTool,
    Check,
    Message,
    RecordedCall,
)
from nanobot.providers.base import ChatMessage
from nanobot.session.entries import Entry, ModelCallEntry, ReplyEntry, UserEntry
from nanobot.session.runs import PromptSnapshot


class Log(Protocol):
    """Reads a run's log."""

    async def window(self, session: str, first: int, end: int) -> tuple[Entry, ...]:
        """Entries from `first` up to, but not including, `end`."""


class Snapshots(Protocol):
    """Reads stored prompts."""

    async def snapshot(self, digest: str) -> PromptSnapshot | None:
        """A stored prompt; None if it is gone."""


_END = 2**62


async def frozen(
    run: RunView,
    numbers: Sequence[int],
    log: Log,
    prompts: Snapshots,
) -> Case:
    """A case made from a run whose entries have these numbers. Raises NanobotError if the run
    cannot become a case.
    """
    if run.ended_at is None:
        raise NanobotError(f"Run {run.id} has not ended yet.")
    whole = await log.window(run.session_key, min(numbers), max(numbers) + 1) if numbers else ()
    own = [entry for entry in whole if entry.run_id == run.id]
    if any(entry.body is None for entry in own):
        raise NanobotError(f"Parts of run {run.id} were erased: it cannot be a case.")
    first = next((entry for entry in own if isinstance(entry.body, ModelCallEntry)), None)
    if first is None or not isinstance(first.body, ModelCallEntry):
        raise NanobotError(f"Run {run.id} asked no model: it cannot be a case.")
    call = first.body
    snapshot = await prompts.snapshot(call.prompt)
    if snapshot is None:
        raise NanobotError(f"The prompt of run {run.id} is gone: it cannot be a case.")
    seen = await log.window(run.session_key, call.window_from, first.seq)
    messages = _with_past(seen, run.id, context(_visible(seen, run.id), snapshot, call))
    if any(not isinstance(message.content, str) for message in messages):
        raise NanobotError(f"Run {run.id} shows its model pictures: a case can hold text only.")
    recorded = _recorded(own)
    offered = {tool.name for tool in snapshot.tools}
    return Case(
        name=f"{_slug(_question(own)) or 'case'}-{run.id[:10]}",
        about=f"Made of run {run.id}.",
        run=run.id,
        messages=tuple(_message(message) for message in messages),
        tools=tuple(
            CaseTool(
                name=tool.name,
                description=tool.description,
                parameters=msgspec.json.encode(tool.parameters).decode(),
            )
            for tool in (snapshot.tools if call.profile.tools else ())
        ),
        recorded=tuple(each for each in recorded if each.tool in offered),
        checks=(Check(rubric=_rubric(own)),),
        temperature=call.temperature,
        max_tokens=call.max_tokens,
        effort=call.effort,
    )


def _options(entries: Sequence[Entry], run_id: str) -> Any:
    return next(
        (
            entry.body.options
            for entry in entries
            if entry.run_id == run_id and isinstance(entry.body, UserEntry) and entry.body.options
        ),
        None,
    )


def _visible(entries: Sequence[Entry], run_id: str) -> list[Entry]:
    """The visible entries; for a run with its own history, only the run's entries."""
    options = _options(entries, run_id)
    if options is None or options.history is None:
        return list(entries)
    return [entry for entry in entries if entry.run_id == run_id]


def _with_past(
    entries: Sequence[Entry], run_id: str, messages: Sequence[ChatMessage]
) -> list[ChatMessage]:
    options = _options(entries, run_id)
    past = () if options is None else options.history or ()
    said = [
        ChatMessage(role="assistant" if role == "assistant" else "user", content=text)
        for role, text in past
    ]
    return [*messages[:1], *said, *messages[1:]]


def _message(message: ChatMessage) -> Message:
    calls = (Call(name=c.name, id=c.id, arguments=c.arguments) for c in message.tool_calls)
    return Message(
        role=message.role,
        content=str(message.content),
        tool_calls=tuple(calls),
        tool_call_id=message.tool_call_id or "",
    )


def _recorded(own: Sequence[Entry]) -> list[RecordedCall]:
    """The recorded results, in log order."""
    found = [
        (result.seq, RecordedCall(tool=tool, arguments=arguments, result=text, ok=result.ok))
        for known, results in recorded_results(own).items()
        for tool, _, arguments in [known.partition(" ")]
        for result in results
        for text in [result.text if result.ok else result.text.removeprefix("error: ")]
    ]
    return [call for _, call in sorted(found, key=lambda each: each[0])]


def _question(own: Sequence[Entry]) -> str:
    return next((e.body.text for e in own if isinstance(e.body, UserEntry)), "")


def _answer(own: Sequence[Entry]) -> str:
    texts = [e.body.text for e in own if isinstance(e.body, ReplyEntry) and not e.body.tool_calls]
    return texts[-1] if texts else ""


def _rubric(own: Sequence[Entry]) -> str:
    """The rubric for a judge: the fault that a person found, or the answer to compare with."""
    answer = _answer(own)
    down = [each for each in ratings_among(own) if each.verdict == "down"]
    if down:
        said = "; ".join(each.text for each in down if each.text)
        why = f' They said: "{said}".' if said else ""
        return (
            f'A person rejected this answer: "{answer}".{why} '
            "The new answer answers the question and does not have that fault."
        )
    return f'The new answer is at least as correct and helpful as this one: "{answer}".'


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")


def as_toml(case: Case) -> str:
    """The text of a case's file."""
    import tomlkit  # noqa: PLC0415 - no gateway needs it before a case is made

    plain = msgspec.to_builtins(case)
    document = tomlkit.document()
    for key in ("name", "about", "run", "temperature", "max_tokens", "max_calls", "effort"):
        if plain[key] != "":
            document.add(key, plain[key])
    for key in ("messages", "tools", "recorded", "checks"):
        tables = tomlkit.aot()
        for given in plain[key]:
            table = tomlkit.table()
            for name, value in given.items():
                if value not in ("", None, {}, [], ()):
                    table.add(name, _value(value))
            if key == "recorded" and "result" not in table:
                table.add("result", "")
            tables.append(table)
        if plain[key]:
            document.add(key, tables)
    return tomlkit.dumps(document)


def _value(value: Any) -> Any:
    """A value as TOML; long texts become multi-line if nothing is lost by that."""
    import tomlkit  # noqa: PLC0415 - see above

    if (
        isinstance(value, str)
        and "\n" in value
        and not re.search(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]|\"\"\"|\\", value)
    ):
        return tomlkit.string(f"\n{value}" if value.startswith("\n") else value, multiline=True)
    if isinstance(value, list | tuple):
        return [_value(each) for each in value]
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        inline.update({name: each for name, each in value.items() if each is not None})
        return inline
    return value


def place_of(case: Case, folder: Path) -> Path:
    """The path of its file."""
    return folder / f"{case.name}{SUFFIX}"
