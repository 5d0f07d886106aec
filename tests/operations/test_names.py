"""Somebody of whom no platform says a name is called the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nanobot.addresses import called
from nanobot.messages import Role
from nanobot.plugins.budgets.operations import _who
from nanobot.plugins.common.approvals import Approver

ROOT = Path(__file__).resolve().parents[2] / "nanobot"


@pytest.mark.parametrize(
    ("name", "person", "shown"),
    [
        ("Ann", "1001", "Ann"),
        ("Ann", "local", "Ann"),
        ("", "local", "the owner"),
        ("you", "local", "the owner"),  # as logs of earlier versions have it
        ("", "1001", "1001"),
    ],
)
def test_a_name_goes_before_the_owner_and_an_id(name: str, person: str, shown: str) -> None:
    assert called(name, person) == shown
    assert Approver(role=Role.OWNER, channel="", id=person, name=name).shown == shown


def test_a_row_of_usage_says_who_has_that_id() -> None:
    assert _who("cli:local") == "the owner (cli:local)"
    assert _who("telegram:1001") == "telegram:1001"


def test_nobody_else_chooses_between_a_name_and_an_id() -> None:
    chosen = re.compile(r"(?:sender_|sender\.|caller\.)name\)? or (?!'Somebody')")
    found = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if chosen.search(file.read_text("utf-8"))
    }
    assert found == set()
