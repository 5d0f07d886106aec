"""What a line that begins with a slash may become."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from nanobot.config.loader import load
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.terminal import editor
from nanobot.plugins.terminal.completion import Commands, model_labels
from nanobot.ports import MenuCommand


def command(name: str, usage: str) -> MenuCommand:
    return MenuCommand(name, "helps", usage)


def suggested(commands: Commands, text: str) -> list[str]:
    return [each.text for each in commands.get_completions(Document(text), CompleteEvent())]


def test_every_operation_is_suggested() -> None:
    names = suggested(Commands({}), "/")
    every = (*OPERATIONS, *plugin_operations())
    assert {f"/{each.name}" for each in every if each.listed} <= set(names)
    assert {"/runs list", "/pair list"} <= set(names)
    assert "/quit" in names


def test_a_new_operation_appears_by_itself_with_its_arguments() -> None:
    commands = Commands({}, [command("nap", "/nap [long|short] [until=TIME] [deep=yes] REASON")])
    assert suggested(commands, "/n") == ["/nap"]
    assert suggested(commands, "/nap ") == ["long", "short", "until=", "deep=yes"]
    assert suggested(commands, "/nap long d") == ["deep=yes"]


def test_names_of_two_words_are_completed_as_one() -> None:
    commands = Commands({}, [command("runs list", "/runs list [limit=LIMIT]")])
    (completion,) = commands.get_completions(Document("/runs l"), CompleteEvent())
    assert (completion.text, completion.start_position) == ("/runs list", -7)
    assert suggested(commands, "/runs list ") == ["limit="]


def test_arguments_are_suggested_from_what_is_known() -> None:
    commands = Commands({"model": lambda: ["default", "a/b", "a/c"]}, [command("model", "/model")])
    assert suggested(commands, "/model a/") == ["a/b", "a/c"]
    assert suggested(commands, "/model a/b") == []


def test_ordinary_text_gets_no_suggestions() -> None:
    commands = Commands({})
    assert suggested(commands, "see /etc") == []
    assert suggested(commands, "/\n") == []
    assert suggested(commands, "/nosuchthing ") == []


def test_models_of_the_configuration_come_first() -> None:
    config = load(
        {
            "NANOBOT_HOME": "/nonexistent",
            "NANOBOT_AGENT__MODEL": "mine/big",
            "NANOBOT_PROVIDERS__MINE__API_BASE": "http://127.0.0.1:1/v1",
        }
    )
    labels = model_labels(config)
    assert labels[:4] == ["default", "mine/big", "embedded", "mine/"]
    assert "anthropic/claude-sonnet-5-5" in labels


def test_a_folder_is_completed_with_its_slash_so_that_tab_goes_on_in_it(tmp_path: Path) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "deep" / "notes.txt").write_text("x")
    completer, text = editor._Completer(Commands({})), f"see @{tmp_path}/do"
    for _ in range(3):
        (found,) = completer.get_completions(Document(text), CompleteEvent())
        text += found.text
    assert text == f"see @{tmp_path}/docs/deep/notes.txt"
