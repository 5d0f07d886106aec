"""How text is drawn for a terminal: well-formed, within its width, and harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nanobot.cli.output import harmless
from nanobot.messages import Choice
from nanobot.plugins.terminal.markdown import Ink, ending, settled
from nanobot.plugins.terminal.page import TerminalPage

PLAIN = Ink(colour=False)
SAMPLE = """# A title of some length, longer than forty columns

Text with **bold**, `code`, a [link](https://example.org/a/rather/long/path), <b>tags</b>
and a second line. 日本語のテキストは二倍の幅。🎉

1. one
2. two, which goes on for so long that it has to be wrapped somewhere
   - and a part of it, 你好世界你好世界你好世界你好世界你好世界

```python
def a_function_with_a_long_name(argument_one: int, argument_two: int) -> str: ...
```

> quoted, at such a length that it does not fit into one line of forty

| name | meaning |
|------|---------|
| a    | the first letter of the alphabet, which is rather a lot to say |

---
"""
BLOCKS = st.sampled_from(
    ["Words.", "## Head", "- a\n- b", "1. a\n2. b", "```\nx\n\ny\n```", "> q", "| a |\n|-|\n| b |"]
)


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("colour", [True, False])
def test_no_line_is_wider_than_asked(width: int, colour: bool) -> None:
    lines = harmless(Ink(colour=colour).markdown(SAMPLE, width)).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_markdown_is_drawn_and_not_shown() -> None:
    drawn = PLAIN.markdown(SAMPLE, 80)
    assert "Text with bold, code, a link (https://example.org/a/rather/long/path)" in drawn
    assert "<b>tags</b>\nand a second line." in drawn
    assert " 1 one\n 2 two" in drawn
    assert "  def a_function" in drawn
    assert "```" not in drawn
    assert "\n\n\n" not in drawn


def test_without_colour_there_are_no_control_sequences() -> None:
    assert "\x1b" in Ink(colour=True).markdown(SAMPLE, 80)
    assert "\x1b" not in PLAIN.markdown(SAMPLE, 80)


def test_lines_end_without_blanks() -> None:
    for line in PLAIN.markdown(SAMPLE, 80).splitlines():
        assert line == line.rstrip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;https://x\x1b\\b", "ab"),
        ("a\x9b31mb", "a31mb"),
        ("a\rb\x07\x00", "ab"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\u202eb", "ab"),
        ("日本語 🎉", "日本語 🎉"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.lists(BLOCKS, min_size=1, max_size=6), st.data())
def test_what_is_settled_looks_the_same_whatever_follows(
    blocks: list[str], data: st.DataObject
) -> None:
    whole = "\n\n".join(blocks)
    begun = whole[: data.draw(st.integers(0, len(whole)))]
    end = settled(begun)
    assert PLAIN.markdown(whole, 60).startswith(PLAIN.markdown(begun[:end], 60).rstrip("\n"))


def test_the_end_of_a_long_code_block_is_still_code() -> None:
    text = "Words.\n\n```python\n" + "\n".join(f"line {n}" for n in range(50))
    assert ending(text, 3) == "```python\nline 47\nline 48\nline 49"
    assert ending("a\nb\nc", 2) == "b\nc"


class Page:
    """A TerminalPage and what it put."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        self.put = ""
        self.terminal = TerminalPage(PLAIN, self._put, lambda: (columns, rows))

    def _put(self, drawn: str) -> None:
        self.put += drawn


@pytest.mark.parametrize("columns", [40, 80])
def test_a_tool_call_takes_one_line_that_shows_its_time(columns: int) -> None:
    page = Page(columns)
    page.terminal.called("exec " + "x" * 200, ok=True, ms=1234, text="")
    assert page.put.endswith("…  1.2 s\n")
    assert cell_len(page.put.rstrip("\n")) < columns


def test_a_failed_call_says_why_and_one_cut_off_that_it_was() -> None:
    page = Page(80)
    page.terminal.called("a", ok=False, ms=10, text="error: no\nmore")
    page.terminal.called("b", ok=False, ms=None, text="cut off")
    assert page.put == "✗ a   0.0 s  error: no\n– b   cut off\n"


def test_unlike_things_stand_apart() -> None:
    page = Page(80)
    page.terminal.said("hello")
    page.terminal.called("a", ok=True, ms=0, text="")
    page.terminal.called("b", ok=True, ms=0, text="")
    page.terminal.answer("One.\n\n")
    page.terminal.answer("Two.")
    page.terminal.choices((Choice("yes", "/approve 1"), Choice("no", "/deny 1")))
    page.terminal.said("1")
    assert page.put == (
        "> hello\n✓ a   0.0 s\n✓ b   0.0 s\n\nOne.\n\nTwo.\n 1. yes\n 2. no\n"
        "Type a number, or answer in your own words.\n\n> 1\n"
    )


def test_a_long_paste_is_repeated_only_at_its_beginning() -> None:
    page = Page(80)
    page.terminal.said("\n".join(str(n) for n in range(100)))
    assert page.put.splitlines()[-1] == "  ... (88 more lines)"
