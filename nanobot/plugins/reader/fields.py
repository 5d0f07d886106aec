"""The form of a reader's answer: typed fields, which are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.plugins.common.files.untrusted import visible

MAX_ANSWER = 1_500
"""Maximum characters of the answer to a question."""
MAX_TEXT = 200
"""Maximum characters of a text field."""
MAX_FIELDS = 20
ANSWER = "answer"
_CHOICES = 20

Kind: TypeAlias = Literal["yes_no", "number", "date", "choice", "text"]
_NAMES = {
    "yes_no": "true or false",
    "number": "a number",
    "date": 'a date as "2026-01-31"',
    "text": f"a text of one line with at most {MAX_TEXT} characters",
}


class Field(msgspec.Struct, frozen=True):
    """One thing to find out. Only a `text` can contain words of the document."""

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$", description="In small letters")]
    kind: Kind
    about: Annotated[
        str, Meta(max_length=200, description="What it is, if the name is not enough")
    ] = ""
    choices: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=60)], ...],
        Meta(max_length=_CHOICES, description="For kind choice: the possible values"),
    ] = ()


def checked(fields: Sequence[Field]) -> None:
    """Raises UsageError for fields that cannot be asked for."""
    names = [field.name for field in fields]
    for field in fields:
        if names.count(field.name) > 1:
            raise UsageError(f"there are two fields named {field.name}: give each its own name")
        if (field.kind == "choice") is not bool(field.choices):
            raise UsageError(
                f"field {field.name}: `choices` belong to the kind choice, and only to it"
            )


def form(fields: Sequence[Field]) -> str:
    """The form of the answer, for the reader."""
    if not fields:
        return f'{{"{ANSWER}": a text with at most {MAX_ANSWER} characters}}'
    lines = []
    for field in fields:
        what = _NAMES.get(field.kind) or f"one of {', '.join(map(repr, field.choices))}"
        lines.append(f'  "{field.name}": {what}' + (f" ({field.about})" if field.about else ""))
    return "{\n" + ",\n".join(lines) + "\n}"


def parsed(reply: str, fields: Sequence[Field]) -> Mapping[str, Any]:
    """The values in a reader's reply. Raises UsageError if it is not exactly the form; the message
    contains words of the reply, and is for the reader only."""
    begin, end = reply.find("{"), reply.rfind("}")
    if begin < 0 or end < begin:
        raise UsageError("there is no JSON object in it")
    try:
        values = msgspec.json.decode(reply[begin : end + 1], type=_type_of(fields))
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise UsageError(str(error)) from None
    return {name: _plain(value) for name, value in msgspec.to_builtins(values).items()}


def _type_of(fields: Sequence[Field]) -> type[Any]:
    if not fields:
        answer = Annotated[str, Meta(max_length=MAX_ANSWER)]
        return msgspec.defstruct("Answer", [(ANSWER, answer)], forbid_unknown_fields=True)
    members = [(field.name, _kind_of(field) | None) for field in fields]
    return msgspec.defstruct("Answer", members, forbid_unknown_fields=True)


def _kind_of(field: Field) -> Any:
    kinds: dict[str, Any] = {"yes_no": bool, "number": int | float, "date": date}
    if field.kind == "choice":
        return Literal[field.choices]
    return kinds.get(field.kind) or Annotated[str, Meta(max_length=MAX_TEXT, pattern=r"^[^\n\r]*$")]


def _plain(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value
