"""Shows the policy's verdict on a hypothetical call."""

from __future__ import annotations

import msgspec

from nanobot.errors import ToolArgumentsError, UsageError
from nanobot.labels import Label, Privacy, Speaker, of
from nanobot.messages import Address, Role
from nanobot.plugins.audit.explanation import PolicyExplanation
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry, parsed

_OPTIONS = ("role", "channel", "chat", "tainted", "spoken", "privacy")
_PRIVACY = {step.name.lower(): step for step in Privacy}
_SPEAKERS = {speaker.name.lower().replace("_", "-"): speaker for speaker in Speaker}
_ROLES = tuple(str(role) for role in Role)
_YES = ("yes", "true", "on", "1")


class PolicyQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A hypothetical call, as entered by a person. `text` is JSON, or the tool's first argument,
    optionally followed by options as name=value.
    """

    tool: str
    text: str = ""
    role: str = "owner"
    channel: str = ""
    chat: str = ""
    tainted: bool = False
    spoken: str = ""
    privacy: str = ""


async def explain(tools: ToolRegistry, question: PolicyQuestion) -> PolicyExplanation:
    """The verdict. Raises UsageError for an impossible call."""
    question = _with_options(question)
    if question.role not in _ROLES:
        raise UsageError(f"role: {question.role[:40]!r} is not one of {', '.join(_ROLES)}")
    label = _label(question.spoken, question.privacy)
    tool, spec = tools.known(question.tool)
    text = question.text.strip()
    if text and not text.startswith("{"):
        first = list(spec.parameters.get("properties", {}))[:1]
        text = msgspec.json.encode(dict.fromkeys(first, text)).decode()
    try:
        parsed(tool, text)
    except ToolArgumentsError as error:
        raise UsageError(f"{question.tool}: {error}") from None
    context = CallContext(
        run_id="",
        session_key="",
        address=Address(question.channel, question.chat),
        sender_id="",
        role=Role(question.role),
        key="",
        tainted=question.tainted or label.tainted,
        label=label,
    )
    decision = await tools.judge(question.tool, text, context)
    return PolicyExplanation(
        tool=question.tool,
        arguments=text or "{}",
        verdict=decision.verdict,
        rule=decision.rule,
        because=decision.why,
    )


def _label(spoken: str, privacy: str) -> Label:
    """The label of these speakers and this privacy. Raises UsageError for unknown ones."""
    names = [name for name in spoken.lower().replace("_", "-").split(",") if name]
    for name in names:
        if name not in _SPEAKERS:
            raise UsageError(f"spoken: {name[:40]!r} is not one of {', '.join(_SPEAKERS)}")
    if privacy and privacy.lower() not in _PRIVACY:
        raise UsageError(f"privacy: {privacy[:40]!r} is not one of {', '.join(_PRIVACY)}")
    step = _PRIVACY[privacy.lower()] if privacy else Privacy.PUBLIC
    return of(*(_SPEAKERS[name] for name in names), privacy=step)


def _with_options(question: PolicyQuestion) -> PolicyQuestion:
    """Adds the options that follow the arguments."""
    text, options = question.text.rstrip(), dict[str, str | bool]()
    while True:
        before, _, last = text.rpartition(" ")
        name, equals, value = last.partition("=")
        if not equals or name not in _OPTIONS:
            return msgspec.structs.replace(question, text=text, **options)
        options.setdefault(name, value.lower() in _YES if name == "tainted" else value)
        text = before.rstrip()
