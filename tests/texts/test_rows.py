"""Every text that people can see has its Chinese row, and no row is for nothing."""

from __future__ import annotations

import re

from nanobot.plugins.common.translation.template import Template
from nanobot.seam.installed import installed
from tests.texts.files import difference, files, read
from tests.texts.shown import shown_rows
from tests.uncollected import uncollected


def test_every_text_that_people_can_see_has_a_row_and_every_row_a_text() -> None:
    with uncollected():
        found = difference()
    assert not found, f"run `python -m tests.texts --write`, then translate:\n{found}"


def test_the_texts_are_found_where_people_meet_them() -> None:
    rows = {row for row, _ in shown_rows()}
    for told in (
        "There is no run {0}; `runs list` lists them.",  # an error
        "nanobot runs as root",  # a finding of doctor
        "Run: chmod {0} {1}",  # a remedy
        "On Telegram, send /newbot to @BotFather: it gives you a token.",  # a step of set-up
        "The gateway is restarting. Unfinished answers resume afterwards.",  # the result of one
        "owners may do everything",  # a reason of the policy
        "Webhooks from other services.",  # what a plugin is for
    ):
        assert told in rows
    assert "every refusal is a NanobotError" not in rows  # an AssertionError
    assert "the command cannot be started: {0:text}" not in rows  # a tool's error, for the model


def test_each_translation_has_the_holes_of_its_text_and_is_chinese() -> None:
    for row, (_, text) in read().items():
        holes = {hole.number for hole in Template.read(row).holes}
        assert {hole.number for hole in Template.read(text).holes} == holes, row
        assert re.search(r"[\u4e00-\u9fff（：；，]", text) or "[Errno" in row, row


def test_a_translation_keeps_the_code_of_its_text() -> None:
    code = re.compile(r"`[^`{} ]+`|[a-z_]+\.[a-z_]+(?:\.[a-z_]+)+|--[a-z]+")
    for row, (_, text) in read().items():
        for word in code.findall(row):
            assert word in text, f"{word} of {row!r} is not in {text!r}"


def test_a_plugin_brings_its_own_texts() -> None:
    """That a row is in no other file is part of the first test."""
    told = {name: found.plugin.texts for name, found in installed().found.items()}
    folders = {file.parent.name: file.parent for file in files() if file.name == "zh.toml"}
    assert len(folders) > 20
    assert {name: told[name] for name in folders} == folders
