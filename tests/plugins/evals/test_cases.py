"""A case file is read whole, or refused with its file, its key and a remedy."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.evals.cases import (
    Case,
    CaseBroken,
    CaseTool,
    Check,
    Message,
    RecordedCall,
    parsed,
    read_all,
)
from nanobot.plugins.evals.freezing import as_toml
from nanobot.plugins.evals.schema import misfit, trouble
from tests.plugins.evals.home import WEATHER

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
SOME = TEXT.filter(bool)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3).map(lambda it: msgspec.json.encode(it).decode())
CHECKS = st.one_of(
    *(
        st.builds(Check, **{key: SOME})
        for key in ("called", "never", "contains", "lacks", "rubric")
    ),
    st.floats(0.001, 1e6).map(lambda value: Check(seconds_below=value)),
    st.floats(0.001, 1e6).map(lambda value: Check(cost_below=value)),
)
CASES = st.builds(
    Case,
    name=SOME,
    about=TEXT,
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(["system", "assistant"]), content=TEXT), max_size=3
    ).map(lambda said: (*said, Message(role="user", content="Well?"))),
    tools=st.just((CaseTool(name="look", description='a "quoted"\nline'),)),
    recorded=st.lists(
        st.builds(
            RecordedCall, tool=st.just("look"), result=TEXT, arguments=ARGUMENTS, ok=st.booleans()
        ),
        max_size=3,
    ).map(tuple),
    checks=st.lists(CHECKS, min_size=1, max_size=4).map(tuple),
    max_tokens=st.integers(1, 10_000),
)


@pytest.mark.process
@given(CASES)
def test_what_is_written_is_read_as_the_same_case(case: Case) -> None:
    assert parsed(as_toml(case), "x.toml") == case


@given(st.text(max_size=200) | st.binary(max_size=50).map(lambda it: it.decode("latin-1")))
def test_whatever_a_file_holds_the_only_error_names_it(text: str) -> None:
    with pytest.raises(CaseBroken, match=r"^x\.toml: "):
        parsed(text, "x.toml")


@given(st.sampled_from(WEATHER.splitlines()), TEXT)
def test_a_line_that_is_changed_gives_a_case_or_an_error_that_names_the_file(
    line: str, other: str
) -> None:
    try:
        parsed(WEATHER.replace(line, other, 1), "x.toml")
    except CaseBroken as broken:
        said = str(broken)
    else:
        said = "x.toml: a case"
    assert said.startswith("x.toml: ")


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            'contains = "rain"',
            'contain = "rain"',
            r"checks\[2\]\.contain: there is no such key; known",
        ),
        ('contains = "rain"', 'matches = "("', r"checks\[2\]\.matches: not a regular expression"),
        ('contains = "rain"', "", r"checks\[2\]: checks nothing; write exactly one of called"),
        (
            'contains = "rain"',
            'schema = { format = "x" }',
            r"checks\[2\]\.schema: format: this",
        ),
        ('never = "exec"', 'never = "exec"\nbefore = "x"', r"checks\[1\]\.before: belongs to"),
        ('role = "user"', 'role = "boss"', r"messages\[0\]\.role: invalid enum value 'boss'"),
        ('role = "user"', 'role = "assistant"', r"messages: no message has role = \"user\""),
        ('name = "message"', 'names = "message"', r"tools\[1\]\.names: there is no such key"),
        ('tool = "web_search"', 'tool = "dig"', r"recorded\[0\]\.tool: 'dig' is not offered; add"),
        ('result = "Heavy', 'results = "Heavy', r"recorded\[0\]\.results: there is no such key"),
        ('name = "weather"', "max_calls = 0", r"max_calls: expected `int` >= 1; change"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_a_remedy(was: str, now: str, said: str) -> None:
    with pytest.raises(CaseBroken, match=said):
        parsed(WEATHER.replace(was, now, 1), "x.toml")


def test_two_cases_of_one_name_are_an_error(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(WEATHER)
    with pytest.raises(CaseBroken, match=r"b\.toml: name: 'weather' is also the name of .*a\.toml"):
        read_all(tmp_path)


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"type": "object", "required": ["a"]}, {}, "$.a is missing"),
        ({"type": "integer"}, True, "$ is not of type integer"),
        ({"items": {"type": "string", "maxLength": 1}}, ["a", "bc"], "$[1] has 2 characters"),
        ({"properties": {"a": {"minimum": 3}}}, {"a": 2}, "$.a is 2, and minimum is 3"),
        ({"additionalProperties": False}, {"b": 1}, "$.b is not allowed"),
        ({"enum": [1]}, True, "$ is none of the values"),
        ({"anyOf": [{"type": "null"}, {"const": 2}]}, 2, ""),
    ],
)
def test_a_value_fits_a_schema_or_the_place_is_named(
    schema: dict[str, object], value: object, why: str
) -> None:
    assert not trouble(schema)
    found = misfit(value, schema)
    assert found.startswith(why)
    assert bool(found) == bool(why)
