"""Who speaks in the request of a program."""

from __future__ import annotations

from nanobot.labels import NOTHING, Label, Privacy, Speaker, of
from nanobot.plugins.common.runs.run_input import RunInput


def said_by_program(request: RunInput, *, trusted: bool = False) -> Label:
    """The label of another program's request. A trusted program speaks for its owner, but its
    account of the assistant's earlier answers is not trusted."""
    label = NOTHING if trusted else of(Speaker.PROGRAM, privacy=Privacy.CONVERSATION)
    if any(message.get("role") == "assistant" for message in request.messages):
        label = label.join(of(Speaker.OUTSIDE, privacy=Privacy.CONVERSATION))
    return label
