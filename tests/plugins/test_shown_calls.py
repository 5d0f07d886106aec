"""A call as people are shown it, over any arguments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.common.views.shown_calls import arguments_shown
from tests.test_visible import TEXTS


@given(st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_no_argument_forges_another_one(given_arguments: dict[str, str]) -> None:
    lines = arguments_shown(given_arguments).split("\n")
    assert sum(not line.startswith("    ") for line in lines if given_arguments) == len(
        given_arguments
    )
