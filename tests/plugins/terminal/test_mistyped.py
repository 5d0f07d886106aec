"""What is typed after `nanobot` and is no command: refused with the nearest, or said."""

from __future__ import annotations

import pytest
from typer.main import get_command

from nanobot.plugins.command_line.commands import app
from nanobot.plugins.command_line.refusals import refusal
from nanobot.plugins.command_line.top import paths_of
from nanobot.plugins.terminal import mistyped

PATHS = sorted(paths_of(get_command(app).commands))  # type: ignore[attr-defined]
WORDS = sorted({word for path in PATHS for word in path.split()})


def test_each_word_of_a_command_is_no_message_and_leads_to_a_command() -> None:
    for word in sorted({*WORDS, *mistyped._ELSEWHERE}):
        assert mistyped.looks_like_a_command([word], PATHS), word
        near = mistyped.nearest([word], PATHS)
        assert near, word
        assert all(
            path.removesuffix(" --help") in PATHS or path.endswith("--help") for path in near
        )


def test_a_command_in_the_wrong_order_or_with_a_slip_leads_to_it() -> None:
    for path in PATHS:
        words = path.split()
        assert path in mistyped.nearest(words[::-1], PATHS)
        if len(words) > 1:
            assert mistyped.looks_like_a_command(words[::-1], PATHS), path
        if len(words[0]) > 5:
            slip = words[0][:2] + words[0][3:]
            assert mistyped.looks_like_a_command([slip, *words[1:]], PATHS), path
            assert words[0] in " ".join(mistyped.nearest([slip, *words[1:]], PATHS)), path


@pytest.mark.parametrize(
    "words",
    [
        ["What is the capital of Mongolia?"],
        ["what", "is", "the", "capital", "of", "Mongolia"],
        ["say:hi"],
        ["今天天气怎么样"],
        ["hello!"],
        ["please", "tell", "me", "more"],
    ],
)
def test_a_message_is_a_message(words: list[str]) -> None:
    assert not mistyped.looks_like_a_command(words, PATHS)


@pytest.mark.parametrize("word", ["hello", "LIST", "x", "foo-bar", "logs2"])
def test_a_single_word_is_no_message_and_how_to_say_it_is_told(word: str) -> None:
    assert mistyped.looks_like_a_command([word, "--json"], PATHS)
    assert f'nanobot agent -m "{word}"' in "".join(mistyped.suggestions([word, "--json"], PATHS))


def test_what_other_programs_call_it_leads_to_commands_there_are() -> None:
    named = {path for paths in mistyped._ELSEWHERE.values() for path in paths}
    assert named <= set(PATHS)


def test_a_command_that_a_missing_plugin_may_bring_is_refused_with_the_names_of_those_plugins() -> (
    None
):
    there = [path for path in PATHS if path.split()[0] != "service"]
    hints = mistyped.suggestions(["service", "install"], there)
    told = refusal(["service", "install"], hints, ["setup", "terminal"])
    assert "A plugin that could not be loaded may bring it: setup, terminal." in told[-2]
    assert told[-2].endswith("`nanobot plugins` says why.")
    assert "service install" not in "".join(mistyped.suggestions(["daemon"], there)[0])
    assert refusal(["x"], [], []) == ["No such command 'x'.", "All commands: nanobot --help"]
