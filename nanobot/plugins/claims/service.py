"""What the gateway calls: remarks on runs, and the check of an answer before it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nanobot.operations.remarks import Noted
from nanobot.plugins.claims.claims import Judged, judged
from nanobot.plugins.claims.settings import ClaimsSettings
from nanobot.session.entries import Entry
from nanobot.tools.registry import ToolRegistry

_MOST = 5


def remarks(tools: ToolRegistry) -> Callable[[Sequence[Entry]], list[Noted]]:
    """A function that marks the claims of a run's answer which no call supports."""

    def remark(entries: Sequence[Entry]) -> list[Noted]:
        found = _judged(entries, tools)
        return [Noted(text=str(claim), entry=found.entry) for claim in found.claims[:_MOST]]

    return remark


def answer_checks(
    settings: ClaimsSettings, tools: ToolRegistry
) -> list[Callable[[Sequence[Entry]], str]]:
    """A function that tells the model of such claims; none if that is off."""

    def check(entries: Sequence[Entry]) -> str:
        claims = _judged(entries, tools).claims[:_MOST]
        if not claims:
            return ""
        lines = "\n".join(f"- {claim}" for claim in claims)
        return (
            f"Your answer was not given to the person yet, because of this:\n{lines}\n"
            "Do now what is missing, with your tools, or answer again without saying that it was "
            "done. If the answer is right as it is, repeat it. Write the whole answer: the person "
            "sees only the next one."
        )

    return [check] if settings.ask_again else []


def _judged(entries: Sequence[Entry], tools: ToolRegistry) -> Judged:
    return judged(entries, _descriptions(tools)) or Judged(entry=0)


def _descriptions(tools: ToolRegistry) -> Mapping[str, str]:
    """What the registered tools say of themselves."""
    return {spec.name: spec.description for _, spec, _ in tools.listed()}
