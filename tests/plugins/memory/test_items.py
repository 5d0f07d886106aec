"""Memories within files that people write too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.memory.items import digest_of, extended, items, normal, without

FILE = """\
# Memory

Anna prefers tea,
green if there is some.

## People

- Bob's birthday is 4 May
  - he likes cake
* Carol: +49 170

1. first
2) second
---
<!-- made by hand -->
- with two

  paragraphs
    and code
"""

lines = st.sampled_from(
    [
        "# h",
        "",
        "- a",
        "  - b",
        "text",
        "  indented",
        "\tx",
        "---",
        "1. n",
        "* c",
        "a\r",
        "<!-- -->",
    ]
)
files = st.one_of(st.text(max_size=200), st.lists(lines, max_size=12).map("\n".join))
texts = st.one_of(st.text(max_size=100), st.lists(lines, max_size=6).map("\n".join))


def said(content: str) -> list[str]:
    return [item.text for item in items(content)]


def test_items_and_paragraphs_are_memories_and_headings_are_none() -> None:
    assert said(FILE) == [
        "Anna prefers tea,\ngreen if there is some.",
        "Bob's birthday is 4 May\n- he likes cake",
        "Carol: +49 170",
        "first",
        "second",
        "with two\n\nparagraphs\n  and code",
    ]


@given(texts)
def test_what_is_written_is_read_as_it_was(text: str) -> None:
    kept = normal(text)
    if kept:
        assert said(extended("", [], kept, "Memory")) == [kept]
    assert normal(kept) == kept


@given(files, texts)
def test_a_memory_more_changes_no_other(content: str, text: str) -> None:
    kept = normal(text)
    if kept:
        longer = extended(content, items(content), kept, "Memory")
        assert said(longer) == [*said(content), kept]
        if content.strip():
            assert longer.startswith(content.rstrip())


@given(files, st.data())
def test_a_memory_less_changes_no_other(content: str, data: st.DataObject) -> None:
    before = items(content)
    if not before:
        return
    gone = data.draw(st.sampled_from(before))
    left = without(content, gone.digest)
    assert said(left) == [item.text for item in before if item.text != gone.text]
    kept = iter(content.split("\n"))
    assert all(line in kept for line in left.split("\n") if line)


def test_a_memory_leaves_its_neighbours_and_their_lines_alone() -> None:
    left = without(FILE, digest_of("Bob's birthday is 4 May\n- he likes cake"))
    assert left == FILE.replace("- Bob's birthday is 4 May\n  - he likes cake\n", "")
    left = without(FILE, digest_of("Anna prefers tea,\ngreen if there is some."))
    assert left == FILE.replace("Anna prefers tea,\ngreen if there is some.\n\n", "")


def test_a_file_of_another_system_keeps_its_line_ends() -> None:
    content = "# Memory\r\n\r\n- one\r\n- two\r\n"
    assert said(content) == ["one", "two"]
    assert extended(content, items(content), "three", "Memory") == content + "- three\r\n"
    assert without(content, digest_of("one")) == "# Memory\r\n\r\n- two\r\n"
