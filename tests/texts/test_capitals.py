"""What a chat is told begins like a sentence, also where it is the text of an error."""

from __future__ import annotations

import ast
import re

import pytest

from nanobot.errors import UsageError
from nanobot.messages import Role
from nanobot.operations.operation import Operation
from nanobot.plugins.common.translation import translated
from nanobot.testing import gateway
from nanobot.text import capitalized
from tests.texts.shown import Shown, _own_text, shown_rows
from tests.uncollected import uncollected

WRONG = "nonsense=1 § § §"
_SMALL = re.compile(r"[a-z]")
_NAME = re.compile(r"(?:nanobot|systemctl)\b|[a-z][a-z'-]*[^a-z' ,;?!-]\S")
"""A program, or a key, an argument, an id: `web.port`, `job_id:`, `channels.{0}`."""


def _rows() -> list[str]:
    with uncollected():
        return [row for row, _ in shown_rows()]


@pytest.mark.process
def test_each_text_gets_a_capital_unless_it_begins_with_a_name() -> None:
    small = [row for row in _rows() if _SMALL.match(row)]
    assert len(small) > 500
    left = [row for row in small if capitalized(row) == row]
    assert [row for row in left if not _NAME.match(row) and " " in row.split(":")[0]] == []
    assert all(
        capitalized(row)[1:] == row[1:] and not _NAME.match(row)
        for row in small
        if capitalized(row) != row
    )


@pytest.mark.process
def test_a_text_with_a_capital_has_the_same_translation() -> None:
    for row in _rows():
        said = re.sub(r"\{\d(?::text)?\}", "7", row)
        assert translated(capitalized(said), "zh").lower() == translated(said, "zh").lower(), row


@pytest.mark.process
def test_no_notice_begins_with_a_small_letter() -> None:
    found = []
    with uncollected():
        shown = Shown()
        shown.rows()
        for node, place in shown._nodes:
            if not isinstance(node, ast.Call):
                continue
            for value in _told(node):
                for reading in shown._texts.readings(value, place):
                    first = reading[0] if reading else ""
                    if isinstance(first, str) and _SMALL.match(first):
                        found.append((place.module.path, node.lineno, first))
    assert found == []


def _told(node: ast.Call) -> list[ast.expr]:
    """The text of a notice, an answer to a command, or another message of nanobot's own."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "OutboundMessage":
        return list(_own_text(node))
    place = {"answered": 0, "notice": 1, "stopped_notice": 2}.get(name)
    return [] if place is None else node.args[place : place + 1]


def _refuses(operation: Operation) -> bool:
    try:
        operation.parsed(WRONG)
    except UsageError:
        return operation.name != "stop" and operation.may(Role.OWNER)
    return False


async def test_the_answer_to_a_wrong_command_begins_like_a_sentence() -> None:
    """Of each operation that a chat knows, with an argument that there is not."""
    async with gateway() as bot:
        wrong = list(filter(_refuses, bot.operations.listed))
        assert len(wrong) >= 9
        for operation in wrong:
            await bot.channel.push(f"/{operation.name} {WRONG}")
            text = (await bot.channel.pop()).text
            assert text.startswith(f"/{operation.name}: "), text
