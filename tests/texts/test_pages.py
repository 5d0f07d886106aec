"""The Chinese pages tell the commands and the tables of the English ones."""

from __future__ import annotations

import re

import pytest

from tests.syntax import ROOT

PAGES = [("README.md", "README.zh.md"), ("docs/quick-start.md", "docs/zh/quick-start.md")]


_COMMAND = re.compile(
    r"(?:(?<=[`\s])(?:nanobot (?:--)?[a-z]+(?: list| approve)?|make [a-z]+)(?=[`\s]|$))"
    r"|(?<![\w-])--[a-z]+(?=[`\s])|(?<![\w-])-[cm](?=[`\s])|(?<=[`>] )/[a-z]+|(?<=`)/[a-z]+"
    r"|NO_COLOR=1|TERM=dumb",
    re.MULTILINE,
)
_PROSE = {
    "nanobot make",
    "nanobot answers",
    "nanobot into",
    "nanobot is",
    "nanobot computes",
    "nanobot gateway",
}


def commands(page: str) -> set[str]:
    """The commands and options that a page names."""
    text = " ".join((ROOT / page).read_text("utf-8").split())
    return set(_COMMAND.findall(text)) - _PROSE


def table_cells(page: str) -> list[list[str]]:
    """What each row of the tables has in backquotes, and its numbers."""
    rows = re.findall(r"^\|(?![-|]+$).*$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return [re.findall(r"`[^`]+`|\d[\d,.]*", row) for row in rows]


@pytest.mark.parametrize(("english", "chinese"), PAGES)
def test_both_pages_have_the_same_commands(english: str, chinese: str) -> None:
    assert len(commands(english)) >= 8
    assert commands(chinese) == commands(english)


def test_both_first_pages_show_the_same_numbers() -> None:
    english, chinese = table_cells("README.md"), table_cells("README.zh.md")
    assert chinese[:4] == english[:4]
    assert [row for row in chinese if row and row[0].startswith("`~")] == [
        row for row in english if row and row[0].startswith("`~")
    ]


@pytest.mark.parametrize(("english", "chinese"), PAGES)
def test_the_chinese_page_leads_to_what_the_english_one_does(english: str, chinese: str) -> None:
    platforms = re.compile(r"channels/\w+\.md")
    named = set(platforms.findall((ROOT / english).read_text("utf-8")))
    assert named <= set(platforms.findall((ROOT / chinese).read_text("utf-8")))
