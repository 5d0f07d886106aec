"""What a text costs that nobody writes, beside an ordinary one of the same length."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import Stage, Subject
from nanobot.messages import Address, OutboundMessage
from nanobot_channels.discord import parts as discord_parts
from nanobot_channels.email import parts as email_parts
from nanobot_channels.matrix import parts as matrix_parts
from nanobot_channels.slack import parts as slack_parts
from nanobot_channels.telegram import parts as telegram_parts
from tests.channels.hostile import hostile, repeated

SIZE = 100_000
_ORDINARY = (
    "# Head\n\nSome **bold** words, *others*, `code` and [a link](https://x.org/a).\n\n"
    "- one\n- two\n\n```py\nx = 1\n```\n\n"
)
_RENDERERS: dict[str, Callable[[OutboundMessage], object]] = {
    "telegram": telegram_parts.render,
    "discord": discord_parts.render,
    "slack": slack_parts.render,
    "matrix": matrix_parts.render,
    "email": email_parts.render,
}


async def rendering(stage: Stage, _: Subject) -> Sample:
    """The CPU time of the worst of fifty texts of 100,000 characters (marks, brackets, table rows),
    relative to an ordinary answer."""
    sample = {}
    for name, render in _RENDERERS.items():
        ordinary = _seconds(render, repeated(_ORDINARY, SIZE))
        taken = {made: _seconds(render, text) for made, text in hostile(SIZE).items()}
        worst = max(taken, key=taken.__getitem__)
        sample[name] = taken[worst] / ordinary
        stage.notes[f"{name}: the worst"] = f"{worst!r}, {taken[worst]:.2f} s"
    return sample


def _seconds(render: Callable[[OutboundMessage], object], text: str) -> float:
    begin = time.process_time()
    render(OutboundMessage(address=Address("any", "1"), text=text, key="k"))
    return time.process_time() - begin


RENDERING = Scenario(
    "rendering",
    tuple(
        Measure(name, f"{name}: the worst text over an ordinary one", "x") for name in _RENDERERS
    ),
    rendering,
    subjects=(Subject.NANOBOT,),
)
