"""The result of triage: a strict form, and rules for which fields go together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from nanobot.errors import UsageError

_MAX_INPUT = 20_000


class TriageReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An immediate reply."""

    content: str = ""


class TriageRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The background run to start. `conversation_id`: the current one, or None for a run without a
    conversation, which opens one when it ends."""

    type: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    conversation_id: str | None
    title: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    input: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return " ".join((self.title or "").split()) or self.type


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a triage call."""

    decision: Literal["reply", "run", "reply_and_run"]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str
    reply: TriageReply | None = None
    run: TriageRun | None = None

    @property
    def reply_text(self) -> str:
        """The text of the reply."""
        return "" if self.reply is None else self.reply.content.strip()


_decoder = msgspec.json.Decoder(Decision)


def parse(text: str, conversation: str) -> Decision | None:
    """Parse the decision that a model wrote: one JSON object, perhaps in a code fence. None for an
    empty object, which lets the run act. Raises UsageError if it is invalid."""
    bare = _unfenced(text)
    if "".join(bare.split()) == "{}":
        return None
    try:
        decision: Decision = _decoder.decode(bare)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise UsageError(f"not a decision: {error}") from None
    wrong = _wrong(decision, conversation)
    if wrong:
        raise UsageError(wrong)
    return decision


def _unfenced(text: str) -> str:
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        return bare[:-3].partition("\n")[2]
    return bare


def _wrong(decision: Decision, conversation: str) -> str:
    """The rule that it breaks; empty if none."""
    what = decision.decision
    if bool(decision.reply_text) is (what == "run"):
        return f"a decision to {what} {'has no' if decision.reply_text else 'needs'} reply.content"
    if (decision.run is None) is not (what == "reply"):
        return f"a decision to {what} {'needs' if decision.run is None else 'has no'} run"
    if decision.run is None:
        return ""
    if decision.run.conversation_id not in (None, conversation):
        return "run.conversation_id is neither this conversation nor null"
    size = len(msgspec.json.encode(decision.run.input))
    return "" if size <= _MAX_INPUT else f"run.input is longer than {_MAX_INPUT} bytes"
