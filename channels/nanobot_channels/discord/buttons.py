"""Choices as Discord's buttons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from nanobot.messages import Choice
from nanobot_channels.common.text import one_line, utf16_units

_ROW = 5
_BUTTONS = 25
_LABEL = 80
_CUSTOM_ID = 100
_USUAL, _GREEN, _RED = 2, 3, 4
_STYLES = ((re.compile(r"/approve \d+"), _GREEN), (re.compile(r"/deny \d+"), _RED))


class Button(msgspec.Struct):
    """A button; pressing it says `say`."""

    label: str
    say: str


def rows(buttons: Sequence[Button]) -> Iterator[dict[str, Any]]:
    """Rows of at most five."""
    for start in range(0, len(buttons), _ROW):
        row = [
            {"type": 2, "style": _style(button.say), "label": button.label, "custom_id": button.say}
            for button in buttons[start : start + _ROW]
        ]
        yield {"type": 1, "components": row}


def buttons_of(choices: Sequence[Choice]) -> tuple[list[Button], list[Choice]]:
    """At most 25 buttons with different ids, and the choices that cannot be one."""
    buttons: dict[str, Button] = {}
    others = []
    for choice in choices:
        label = one_line(choice.label) or choice.say
        if choice.say in buttons:
            continue
        fits = 0 < len(choice.say) <= _CUSTOM_ID and utf16_units(label) <= _LABEL
        if fits and len(buttons) < _BUTTONS:
            buttons[choice.say] = Button(label, choice.say)
        else:
            others.append(choice)
    return list(buttons.values()), others


def _style(say: str) -> int:
    return next((style for form, style in _STYLES if form.fullmatch(say)), _USUAL)
