"""Tables and pages for a terminal: they fit its width, and a page loses nothing."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.rendering import Now, as_text, fields_shown, short_ids
from nanobot.plugins.command_line.tables import page, shown, table
from nanobot.plugins.common.views.views import SessionView
from nanobot.plugins.common.widths import columns
from nanobot.plugins.memory.port import MemoryView
from nanobot.plugins.runs.views import ToolCallView
from nanobot.session.lasting import Provenance
from tests.texts.faces import operations

TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=200)

NOW = Now(0.0, "UTC")


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
    drawn = page(memory(text), NOW, width=width).splitlines()
    assert max(map(columns, drawn)) <= width
    (start,) = [n for n, line in enumerate(drawn) if line.startswith("Scope")]
    (end,) = [n for n, line in enumerate(drawn) if line.startswith("State")]
    value = "".join(line[len("Provenance") :] for line in drawn[start + 1 : end])
    assert value.replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize("width", [80, 100])
def test_titles_stay_readable_beside_keys_that_are_copied(width: int) -> None:
    key = "task:01m80wp9drbjnj1kctbj3n6fnk"
    drawn = [line.text for line in table([session(key), session("cli:direct")], NOW, width=width)]
    assert max(map(columns, drawn)) <= width
    assert key in drawn[1]
    assert "Which train" in drawn[1]


@given(st.integers(30, 200))
def test_no_table_is_wider_than_asked(width: int) -> None:
    wide = msgspec.structs.replace(session("k" * 90), title="你好" * 30)
    drawn = [line.text for line in table([wide], NOW, width=width)]
    assert max(map(columns, drawn)) <= max(width, 38)


def test_in_a_pipe_nothing_is_cut_and_times_are_written_out() -> None:
    wide = msgspec.structs.replace(session("k" * 90), title="word " * 60, updated_at=86_400.0 * 365)
    heads, row = (
        line.text for line in table([wide], Now(86_400.0 * 365 + 600, "Europe/Berlin"), width=None)
    )
    assert ("word " * 60).strip() in row
    assert "01m80wp9drbjnj1kctbj3n6fnk" in row
    assert "1971-01-0" in row
    assert "(10 min ago)" in row
    assert len(page(memory("word " * 60), NOW, width=None).splitlines()) < 10
    assert "…" not in heads + row


def test_columns_that_are_empty_in_every_row_are_not_there() -> None:
    silent = msgspec.structs.replace(session("cli:a"), run=None, waiting=0, updated_at=1.0)
    waiting = msgspec.structs.replace(silent, key="cli:b", has_unread=True)
    assert table([silent], NOW, width=80)[0].text.split() == ["key", "title", "changed"]
    assert "unread" in table([silent, waiting], NOW, width=80)[0].text


def test_ids_of_runs_are_as_short_as_tells_them_apart() -> None:
    alike = ["01m80wp9drbjnj1kctbj3n6fnk", "01m80wp9drbjnaaaaaaaaaaaaa"]
    assert short_ids(alike) == {alike[0]: "01m80wp9drbjnj", alike[1]: "01m80wp9drbjna"}
    assert short_ids([alike[0], "17", "weather"])[alike[0]] == "01m80wp9dr"
    assert short_ids(["cli:direct" * 9])["cli:direct" * 9] == "cli:direct" * 9


def test_a_list_on_a_phone_has_what_is_short_first_and_what_is_long_below_it() -> None:
    read = msgspec.structs.replace(session("cli:a"), run=None, updated_at=1.0)
    new = msgspec.structs.replace(
        session("cli:b"), title="x" * 300, has_unread=True, updated_at=1.0
    )
    first, title, second, clipped = as_text([read, new], Now(600.0, "UTC")).splitlines()
    assert first == "- `cli:a` 10 min ago"
    assert title == "  Which train goes to Vienna tomorrow morning?"
    assert second == "- `cli:b` 10 min ago, unread, 01m80wp9dr"
    assert clipped == f"  {'x' * 100}…"


def test_a_name_that_only_repeats_the_text_is_said_once() -> None:
    row = ToolCallView(
        run_id="r", session_key="s", at=1.0, name="x", arguments="same", ok=True, text="same", ms=1
    )
    assert as_text([row], Now(600.0, "UTC")).count("same") == 1


def test_the_columns_of_every_list_exist() -> None:
    """Those of plugins too."""
    lists = [get_args(each.returns)[0] for each in operations() if get_args(each.returns)]
    kinds = {kind for kind in lists if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}
    assert {"JobView", "RunView"} <= {kind.__name__ for kind in kinds}
    for kind in kinds:
        named = {*kind.__struct_fields__, *vars(kind)}  # a property is one too
        assert set(fields_shown(kind)) <= named, kind


def test_no_result_of_ours_is_shown_as_json() -> None:
    for each in operations():
        if each.text is as_text:
            kind = next(iter(get_args(each.returns)), each.returns)
            assert kind is str or issubclass(kind, msgspec.Struct), each.name


@pytest.mark.parametrize(
    "result", [None, 5, True, 1.5, {}, {"a": {"b": [1]}}, ["a"], [{"a": 1}], [["x"], 2]]
)
def test_what_is_neither_a_text_nor_a_struct_is_shown_as_json(result: Any) -> None:
    """An operation of another package may return anything that JSON has."""

    @operation("anything")
    async def given(context: OperationContext, caller: Caller) -> Any:
        """Give anything."""

    text = given.rendered(result, NOW)
    assert (text == "Done.") if result is None else (json.loads(text) == result)
    assert shown(given, result, "UTC") == [text]
