"""What a model gives that was asked for a summary and facts, in whatever form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.agent.summaries import FACT_CHARS, MAX_FACTS, summed


def test_an_object_is_read_whatever_stands_around_it() -> None:
    made = json.dumps({"summary": " It rained. ", "facts": ["A  fact.\n", "A fact.", "", "B."]})
    for text in (made, f"```json\n{made}\n```", f"Here it is:\n{made}\nAnything else?"):
        found = summed(text)
        assert (found.summary, found.facts) == ("It rained.", ("A fact.", "B."))


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('{"summary": "It rai', "It rai"),
        ('{"summary": "It \\"rai\\', 'It "rai'),
        ('{"summary": "It \\u00e4', "It ä"),
        ('{"summary": "It \\u00', "It"),
        ('{"summary": "It rained.", "facts": ["a", "b', "It rained."),
        ('{"summary": "It rained.", "facts": "none"}', "It rained."),
        ('{"summary": ["x"], "facts": []}', '{"summary": ["x"], "facts": []}'),
        ('{"summary": "", "facts": ["a"]}', ""),
        ("It rained {hard}.", "It rained {hard}."),
        ("", ""),
        ("{" * 100_000, "{" * 100_000),
    ],
)
def test_what_is_no_such_object_is_a_summary_as_far_as_it_goes(text: str, summary: str) -> None:
    found = summed(text)
    assert (found.summary, found.facts) == (summary, ())


def test_there_are_not_too_many_facts_and_none_too_long() -> None:
    facts = ["x" * (FACT_CHARS + 1), *(f"fact {number}" for number in range(MAX_FACTS + 5))]
    found = summed(json.dumps({"summary": "s", "facts": facts}))
    assert found.facts == tuple(f"fact {number}" for number in range(MAX_FACTS))


@given(st.text(), st.text())
def test_nothing_a_model_writes_breaks_it(before: str, after: str) -> None:
    summed(before + '{"summary": "' + after)
    summed(after)


@given(st.text(min_size=1).filter(lambda text: text.strip()), st.integers(0, 10_000))
def test_a_summary_cut_off_anywhere_is_its_own_beginning(text: str, cut: int) -> None:
    whole = text.strip()
    made = json.dumps({"summary": whole})
    head = len('{"summary": "')
    left = made[: head + 1 + cut % (len(made) - head)]
    found = summed(left).summary
    assert whole.startswith(found) or found == left.strip() or "\ud83d" <= found[-1:] <= "\udfff"
