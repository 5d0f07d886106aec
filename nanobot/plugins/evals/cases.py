"""A case: the question for a model, the recorded answers of its tools, and the checks for its
answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.config.values import parse_bytes
from nanobot.errors import ConfigError
from nanobot.plugins.evals.schema import trouble
from nanobot.providers.base import Effort
from nanobot.text import pattern

SUFFIX = ".toml"
MOST_BYTES = 4_000_000
MOST_CASES = 1_000

_Above: TypeAlias = Annotated[float, Meta(gt=0, le=1e9)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class CaseBroken(ConfigError):
    """A file that is not a case; the text names the file, the key and what to write instead."""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of an earlier answer. `arguments` is a table, or JSON as text."""

    name: Text
    id: Text
    arguments: dict[str, Any] | str = msgspec.field(default_factory=dict)


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message shown to the model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[Call, ...] = ()
    tool_call_id: str = ""


class CaseTool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool offered to the model. `parameters` is a JSON Schema, as a table or as text."""

    name: Text
    description: str = ""
    parameters: dict[str, Any] | str = msgspec.field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool's answer to a call with exactly these arguments."""

    tool: Text
    result: str
    arguments: dict[str, Any] | str = msgspec.field(default_factory=dict)
    ok: bool = True


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One condition on the answer. Exactly one of the keys is set, not counting those that belong
    to another."""

    called: str = ""
    arguments: dict[str, Any] = {}
    """Belongs to `called`."""
    before: str = ""
    """Belongs to `called`."""
    after: str = ""
    """Belongs to `called`."""
    never: str = ""
    contains: str = ""
    lacks: str = ""
    matches: str = ""
    schema: dict[str, Any] | str | None = None
    rubric: str = ""
    cost_below: _Above | None = None
    seconds_below: _Above | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys that state the condition."""
        return [kind for kind in KINDS if getattr(self, kind) not in ("", None)]


KINDS = (
    *("called", "never", "contains", "lacks", "matches", "schema", "rubric"),
    *("cost_below", "seconds_below"),
)


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case as written in its file. `run`: the run that it was made from."""

    messages: tuple[Message, ...]
    checks: tuple[Check, ...]
    name: str = ""
    about: str = ""
    run: str = ""
    tools: tuple[CaseTool, ...] = ()
    recorded: tuple[RecordedCall, ...] = ()
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 4096
    max_calls: Annotated[int, Meta(ge=1, le=100)] = 25
    effort: Effort = "default"


class CaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """A case and the file it was read from."""

    path: str
    case: Case

    @property
    def name(self) -> str:
        """The case's name for people: its own name, otherwise the file's name."""
        return self.case.name or Path(self.path).name.removesuffix(SUFFIX)


_TABLES: dict[str, type[msgspec.Struct]] = {
    "messages": Message,
    "messages.tool_calls": Call,
    "tools": CaseTool,
    "recorded": RecordedCall,
    "checks": Check,
}


def parsed(text: str, file: str) -> Case:
    """The case in a file's text. Raises CaseBroken."""
    try:
        tree = parse_bytes(Path(file), text.encode("utf-8", "replace"))
    except ConfigError as error:
        why = str(error).removeprefix(file).lstrip(":, ")
        raise CaseBroken(f"{file}: {why}") from None
    try:
        case = msgspec.convert(tree, Case)
    except msgspec.ValidationError as error:
        raise CaseBroken(f"{file}: {_in_words(str(error))}") from None
    for key, wrong in _wrong(case):
        raise CaseBroken(f"{file}: {key}: {wrong}")
    return case


def read(path: Path) -> CaseFile:
    """The case in a file. Raises CaseBroken."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CaseBroken(f"{path}: larger than {MOST_BYTES:,} bytes; shorten its messages")
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise CaseBroken(f"{path}: not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise CaseBroken(f"{path}: {error.strerror or error}; check its path and rights") from None
    return CaseFile(path=str(path), case=parsed(text, str(path)))


def read_all(place: Path) -> list[CaseFile]:
    """The case in a file, or all cases in a folder, by name. Raises CaseBroken."""
    if place.is_file():
        return [read(place)]
    if not place.is_dir():
        raise CaseBroken(f"{place}: no such folder; `nanobot evals add RUN` makes a first case")
    files = sorted(
        file
        for file in place.rglob(f"*{SUFFIX}")
        if not any(part.startswith(".") for part in file.relative_to(place).parts)
    )
    if not files:
        raise CaseBroken(f"{place}: no case; `nanobot evals add RUN` makes one of a run")
    if len(files) > MOST_CASES:
        raise CaseBroken(f"{place}: more than {MOST_CASES:,} cases; name a folder below it")
    cases = [read(file) for file in files]
    known: dict[str, str] = {}
    for each in cases:
        if each.name in known:
            raise CaseBroken(
                f"{each.path}: name: {each.name!r} is also the name of {known[each.name]}; "
                "give each case its own"
            )
        known[each.name] = each.path
    return cases


def table(given: Mapping[str, Any] | str) -> Any:
    """A table that may be written as JSON. Raises ValueError."""
    return msgspec.json.decode(given) if isinstance(given, str) else dict(given)


def as_json(given: Mapping[str, Any] | str) -> str:
    """Arguments in the form in which a model writes them."""
    return given if isinstance(given, str) else msgspec.json.encode(given).decode()


def is_pattern(wanted: Any) -> bool:
    """Whether an expected argument is a regular expression, written `/EXPRESSION/`."""
    return isinstance(wanted, str) and len(wanted) > 2 and wanted[0] == wanted[-1] == "/"


def _wrong(case: Case) -> Sequence[tuple[str, str]]:  # noqa: C901 - one for each key
    """Errors in a case that msgspec cannot find: the key, and the remedy."""
    found: list[tuple[str, str]] = []
    if not any(message.role == "user" for message in case.messages):
        found.append(("messages", 'no message has role = "user"; add what is asked'))
    if not case.checks:
        found.append(("checks", 'none; add a [[checks]] table, such as contains = "..."'))
    for number, message in enumerate(case.messages):
        if (message.role == "tool") != bool(message.tool_call_id):
            key = f"messages[{number}].tool_call_id"
            found.append((key, 'needed with role = "tool", and not allowed with another role'))
    offered = {tool.name for tool in case.tools}
    for number, tool in enumerate(case.tools):
        if not isinstance(_object(tool.parameters), dict):
            found.append((f"tools[{number}].parameters", "no JSON object; write a JSON Schema"))
    for number, call in enumerate(case.recorded):
        if not isinstance(_object(call.arguments), dict):
            key = f"recorded[{number}].arguments"
            found.append((key, "no JSON object; write a table or JSON"))
        if call.tool not in offered:
            key = f"recorded[{number}].tool"
            found.append((key, f"{call.tool!r} is not offered; add it to [[tools]]"))
    for number, check in enumerate(case.checks):
        found += [(f"checks[{number}]{key}", why) for key, why in _wrong_check(check)]
    return found


def _wrong_check(check: Check) -> list[tuple[str, str]]:
    kinds = check.kinds
    if len(kinds) != 1:
        has = f"has {' and '.join(kinds)}" if kinds else "checks nothing"
        return [("", f"{has}; write exactly one of {', '.join(KINDS)}")]
    for key in ("arguments", "before", "after"):
        if getattr(check, key) and not check.called:
            return [(f".{key}", "belongs to a check with `called`; move it there")]
    patterns = {"matches": check.matches} if check.matches else {}
    patterns |= {f"arguments.{k}": v[1:-1] for k, v in check.arguments.items() if is_pattern(v)}
    for key, expression in patterns.items():
        try:
            re.compile(expression)
        except (re.error, RecursionError, OverflowError) as error:
            return [(f".{key}", f"not a regular expression: {error}; quote special characters")]
    if check.schema is not None:
        wrong = trouble(_object(check.schema))
        return [(".schema", wrong)] if wrong else []
    return []


def _object(given: Mapping[str, Any] | str) -> Any:
    try:
        return table(given)
    except (ValueError, RecursionError):
        return None


_PATH = pattern(r" - at `\$\.?(.*?)`$")
_UNKNOWN = pattern(r"Object contains unknown field `(.*)`")
_MISSING = pattern(r"Object missing required field `(.*)`")


def _in_words(error: str) -> str:
    """A msgspec error in words, with the key first and the remedy last."""
    at = _PATH.search(error)
    path = re.sub(r"\[\.\.\.\]", "", at[1]) if at else ""
    said = _PATH.sub("", error)
    struct = _TABLES.get(re.sub(r"\[\d+\]", "", path), Case)
    known = ", ".join(struct.__struct_fields__)
    prefix = f"{path}." if path else ""
    if unknown := _UNKNOWN.match(said):
        return f"{prefix}{unknown[1]}: there is no such key; known here: {known}"
    if missing := _MISSING.match(said):
        return f"{prefix}{missing[1]}: missing; add it"
    said = said[0].lower() + said[1:]
    return f"{path or 'the file'}: {said}; change its value"
