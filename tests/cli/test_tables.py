"""Tables and pages for a terminal: they fit its width, and a page loses nothing."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.cli.tables import columns, page, table
from nanobot.memory.port import MemoryView, Provenance
from nanobot.session.views import SessionView

TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=200)


def memory(text: str) -> MemoryView:
    return MemoryView(
        id=7,
        scope="owner",
        text=text,
        state="proposed",
        kind="fact",
        provenance=Provenance(session_key="cli:direct", run_id="01m80wmc5kt5pjtf4e61tjdsjt"),
        created_at=0.0,
        updated_at=0.0,
    )


def session(key: str) -> SessionView:
    return SessionView(
        key=key,
        title="Which train goes to Vienna tomorrow morning?",
        has_unread=False,
        updated_at=0.0,
        created_at=0.0,
        model=None,
        entries=3,
        waiting=0,
        run="01m80wp9drbjnj1kctbj3n6fnk",
    )


@given(TEXTS, st.integers(30, 100))
def test_a_page_shows_all_of_a_thing_within_its_width(text: str, width: int) -> None:
    drawn = page(memory(text), 0.0, width=width).splitlines()
    assert max(map(columns, drawn)) <= width
    (start,) = [n for n, line in enumerate(drawn) if line.startswith("Scope")]
    (end,) = [n for n, line in enumerate(drawn) if line.startswith("State")]
    told = "".join(line[len("Provenance") :] for line in drawn[start + 1 : end])
    assert told.replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize("width", [80, 100])
def test_titles_stay_readable_beside_keys_that_are_copied(width: int) -> None:
    key = "task:01m80wp9drbjnj1kctbj3n6fnk"
    drawn = [line.text for line in table([session(key), session("cli:direct")], 0.0, width=width)]
    assert max(map(columns, drawn)) <= width
    assert key in drawn[1]
    assert "Which train" in drawn[1]


@given(st.integers(30, 200))
def test_no_table_is_wider_than_asked(width: int) -> None:
    wide = msgspec.structs.replace(session("k" * 90), title="你好" * 30)
    drawn = [line.text for line in table([wide], 0.0, width=width)]
    assert max(map(columns, drawn)) <= max(width, 38)
