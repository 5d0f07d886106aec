"""Pictures named in what is typed, and shown to the model from any terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.terminal.mentions import Typed, typed
from tests.pictures import png


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person is, with a picture."""
    monkeypatch.chdir(tmp_path)
    for name in ("cat.png", "my cat's.PNG", "notes.txt"):
        (tmp_path / name).write_bytes(png())
    return tmp_path


@pytest.mark.parametrize(
    ("text", "rest", "name"),
    [
        ("/image cat.png what is it?", "what is it?", "cat.png"),
        ("/image ./cat.png", "", "cat.png"),
        ('/image "my cat\'s.PNG" look', "look", "my cat's.PNG"),
        (r"/image my\ cat\'s.PNG look", "look", "my cat's.PNG"),
        ("  /image   cat.png   two\nlines ", "two\nlines", "cat.png"),
        ("/image missing.png", "", "missing.png"),
    ],
)
def test_the_command_names_a_picture(folder: Path, text: str, rest: str, name: str) -> None:
    assert typed(text) == Typed(rest, (str(folder / name),))


def test_the_command_alone_names_none_that_could_be_there() -> None:
    assert typed("/image") == Typed("", ("",))


def test_a_dropped_path_is_a_picture(folder: Path) -> None:
    plain, odd = folder / "cat.png", folder / "my cat's.PNG"
    escaped = str(odd).replace(" ", r"\ ").replace("'", r"\'")
    for line in (
        str(plain),
        f"'{plain}'",
        f'"{plain}"',
        f"file://{plain}",
        f" {plain} ",
        "./cat.png",
    ):
        assert typed(line) == Typed("", (str(plain),)), line
    for line in (str(odd), escaped, f'"{odd}"'):
        assert typed(line) == Typed("", (str(odd),)), line
    both = typed(f"compare\n{plain}\nwith\n{odd}")
    assert both == Typed("compare\nwith", (str(plain), str(odd)))


def test_everything_else_is_said_as_it_is(folder: Path) -> None:
    for text in (
        "cat.png",
        f"look at {folder / 'cat.png'}",
        str(folder / "notes.txt"),
        str(folder / "gone.png"),
        "/imagine a cat",
        "/" + "x" * 5_000 + ".png",
        "/a\0b.png",
        "it's",
        "",
    ):
        assert typed(text) == Typed(text)


@given(st.text(max_size=200))
def test_whatever_is_typed_is_said(text: str) -> None:
    for line in (text, f"/image {text}", f"/{text}.png"):
        typed(line)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "see @note.txt",
            "There is no file note.txt, so only its name was sent; did you mean @notes.txt?",
        ),
        ("see @./nots.txt.", "did you mean @./notes.txt?"),
        ("see @missing/far.md", "There is no file missing/far.md, so only its name was sent"),
        ("see @nowhere.csv", "There is no file nowhere.csv"),
        ("see @notestxt", "did you mean @notes.txt?"),
        ("see @src", "@src is a folder; name a file in it"),
        ("see @src/", "@src/ is a folder; name a file in it"),
    ],
)
def test_a_file_that_is_not_there_is_told(folder: Path, text: str, note: str) -> None:
    (folder / "src").mkdir()
    message = typed(text)
    assert note in message.note
    assert (message.text, message.files) == (text, ())


@pytest.mark.parametrize("text", ["ask @bob", "ask @bob, please", "me@example.org", "@", "@@"])
def test_a_name_is_no_missing_file(folder: Path, text: str) -> None:
    assert typed(text).note == ""
