"""How evals are run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit, about
from nanobot.text import pattern

_TIME = pattern(r"([01]\d|2[0-3]):[0-5]\d")


class EvalsSettings(Settings, frozen=True, kw_only=True):
    """`[evals]`: regression tests of answers."""

    models: Annotated[tuple[str, ...], about("Models to test. Empty: the model of the agent.")] = ()
    judge: Annotated[str, about("Model that judges by rubric. Empty: the model of the agent.")] = ""
    runs: Annotated[int, Meta(ge=1, le=100), about("Attempts at each case.")] = 1
    max_cost: Annotated[
        float, Meta(ge=0, le=1_000_000), about("Most that one evaluation may cost; 0: no limit.")
    ] = 0.0
    nightly: Annotated[str, about("Time of day to run all cases, such as 03:30. Empty: never.")] = (
        ""
    )
    report_to: Annotated[str, about("Chat that is told what changed overnight, as CHANNEL:ID.")] = (
        ""
    )

    def __post_init__(self) -> None:
        if self.nightly and not _TIME.fullmatch(self.nightly):
            raise Unfit("nightly", 'a time of day such as "03:30"')
        channel, _, chat = self.report_to.partition(":")
        if self.report_to and not (channel and chat):
            raise Unfit("report_to", "a chat written as CHANNEL:ID")
        if self.nightly and not self.report_to:
            raise Unfit("report_to", "the chat for the nightly report, as CHANNEL:ID")
