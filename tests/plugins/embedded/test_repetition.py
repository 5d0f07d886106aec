"""Text that goes round in circles, as small models write it."""

from __future__ import annotations

import pytest

from nanobot.plugins.embedded.repetition import LoopWatch, without_loop

LOOP = "I can help you with that. " + "I am always here to help you. " * 30


def grown(text: str, size: int) -> tuple[str, LoopWatch]:
    """What is shown of a text that comes in pieces of that size."""
    watch, shown = LoopWatch(), ""
    for start in range(0, len(text), size):
        shown += watch.add(text[start : start + size])
        if watch.cut is not None:
            return shown, watch
    return shown + watch.end(), watch


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_text_that_repeats_itself_ends_before_it_does_and_shows_nothing_else(size: int) -> None:
    shown, watch = grown(LOOP, size)
    assert watch.cut == shown
    assert shown.count("always here") == 1


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris.",
        "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily.",
        "1. Bananas\n2. Apples\n3. Pears\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "You can do it. " * 3,
        "你好！我可以帮助你写信、翻译和聊天。",
        "Well done! 🎉🎉🎉",
        "0 1 2 3 4 5 6 7 8 9 10 11 12 13",
    ],
)
def test_other_text_is_shown_whole(text: str, size: int) -> None:
    shown, watch = grown(text, size)
    assert (shown, watch.cut) == (text, None)
    assert without_loop(text) == text


def test_points_of_a_list_that_say_the_same_are_a_loop_and_leave_no_bare_number() -> None:
    text = "Skills:\n1. Writing\n" + "".join(f"{n}. Art and design for you\n" for n in range(2, 40))
    assert without_loop(text) == "Skills:\n1. Writing\n2. Art and design for you"


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_what_is_cut_leaves_no_bare_point_of_a_list(size: int) -> None:
    text = "To buy:\n" + "".join(f"- {n} cups of finely chopped dried fruit\n" for n in range(9))
    shown, watch = grown(text, size)
    assert shown == watch.cut == "To buy:\n- 0 cups of finely chopped dried fruit"


def test_a_word_six_times_in_a_row_is_a_loop() -> None:
    assert without_loop("Art.\n" * 6).count("Art") == 1


def test_a_flood_of_emoji_is_a_loop() -> None:
    assert without_loop("Spring! " + "🌱💡🎉🔑🐦🐨🐝🐠🐤🐵" * 20) == "Spring! 🌱"


def test_scripts_without_spaces_are_watched_too() -> None:
    assert len(without_loop("我可以帮助你写信。" * 40)) < 30


def test_text_without_any_word_takes_no_time() -> None:
    assert without_loop("-" * 200_000) == "-" * 200_000
