"""Whether and how triage decides."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta

from nanobot.config.settings.base import Settings, about
from nanobot.plugins.common.runs.run_type_names import RunType


class DecisionSettings(Settings, frozen=True, kw_only=True):
    """`[agent.decision]`: for `triage = "decision"`. Types of background runs that packages add
    may be allowed too."""

    model: Annotated[
        str, about("Model that decides. Empty: the model of the conversation.", is_model=True)
    ] = ""
    allowed_run_types: Annotated[
        tuple[str, ...], about("Kinds of background runs that triage may start.")
    ] = get_args(RunType)
    timeout_seconds: Annotated[
        float, Meta(gt=0, le=3600), about("A decision that takes longer is ignored.", unit="s")
    ] = 10.0
    fallback_mode: Annotated[
        Literal["act", "reply-only"],
        about("What happens without a valid decision: act as usual, or only reply."),
    ] = "act"


class TriageKeys(Settings, frozen=True, kw_only=True):
    """The keys of `[agent]` about triage."""

    part_of: ClassVar[str] = "agent"
    triage: Annotated[
        Literal["off", "decision"],
        about("Whether a model decides before each answer how to handle the message."),
    ] = "off"
    decision: Annotated[DecisionSettings, about("How triage decides.")] = DecisionSettings()
