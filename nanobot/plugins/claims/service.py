"""What the gateway calls: remarks on runs, and the check of an answer before it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nanobot.plugins.claims.settings import ClaimsSettings
from nanobot.plugins.common.views.remarks import Noted
from nanobot.session.entries import Entry
from nanobot.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from nanobot.plugins.claims.claims import Claim

_MOST = 5


def remarks(tools: ToolRegistry) -> Callable[[Sequence[Entry]], list[Noted]]:
    """A function that marks the claims of a run's answer which no call supports."""

    def remark(entries: Sequence[Entry]) -> list[Noted]:
        answer, claims = _judged(entries, tools)
        return [Noted(text=str(claim), entry=answer) for claim in claims[:_MOST]]

    return remark


def answer_checks(
    settings: ClaimsSettings, tools: ToolRegistry
) -> list[Callable[[Sequence[Entry]], str]]:
    """A function that tells the model of such claims; none if that is off."""

    def check(entries: Sequence[Entry]) -> str:
        _, claims = _judged(entries, tools)
        if not claims:
            return ""
        lines = "\n".join(f"- {claim}" for claim in claims[:_MOST])
        return (
            f"Your answer was not given to the person yet, because of this:\n{lines}\n"
            "Do now what is missing, with your tools, or answer again without saying that it was "
            "done. If the answer is right as it is, repeat it. Write the whole answer: the person "
            "sees only the next one."
        )

    return [check] if settings.ask_again else []


def _judged(entries: Sequence[Entry], tools: ToolRegistry) -> tuple[int, Sequence[Claim]]:
    """Where the answer is, and its claims."""
    from nanobot.plugins.claims.claims import judged  # noqa: PLC0415 - 50 ms, at the first look

    found = judged(entries, _descriptions(tools))
    return (0, ()) if found is None else (found.entry, found.claims)


def _descriptions(tools: ToolRegistry) -> Mapping[str, str]:
    """What the registered tools say of themselves."""
    return {spec.name: spec.description for _, spec, _ in tools.listed()}
