"""What triage may decide: a strict form, and the rules which of its fields go together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from nanobot.errors import UsageError

_MAX_INPUT = 20_000


class TriageReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said at once."""

    content: str = ""


class TriageRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The background run to start. `conversation_id` is the current one, or None: the run is
    nobody's, and opens a conversation of its own when it ends."""

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
        """The text of its reply."""
        return "" if self.reply is None else self.reply.content.strip()


_decoder = msgspec.json.Decoder(Decision)


def parse(text: str, conversation: str) -> Decision | None:
    """The decision that a model wrote, one JSON object (a code fence around it is taken off); None
    for an empty one, which leaves it to the run. Raises UsageError saying what is wrong with it."""
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
    """Which rule it breaks; empty if none."""
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
