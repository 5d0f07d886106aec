"""What a model gives that was asked for a summary and facts, in whatever form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.summaries.asking import FACT_CHARS, MAX_FACTS, summed


def test_an_object_is_read_whatever_stands_around_it() -> None:
    encoded = json.dumps({"summary": " It rained. ", "facts": ["A  fact.\n", "A fact.", "", "B."]})
    for text in (encoded, f"```json\n{encoded}\n```", f"Here it is:\n{encoded}\nAnything else?"):
        summary = summed(text)
        assert (summary.summary, summary.facts) == ("It rained.", ("A fact.", "B."))


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
    read = summed(text)
    assert (read.summary, read.facts) == (summary, ())


def test_there_are_not_too_many_facts_and_none_too_long() -> None:
    facts = ["x" * (FACT_CHARS + 1), *(f"fact {number}" for number in range(MAX_FACTS + 5))]
    read = summed(json.dumps({"summary": "s", "facts": facts}))
    assert read.facts == tuple(f"fact {number}" for number in range(MAX_FACTS))


@given(st.text(), st.text())
def test_nothing_a_model_writes_breaks_it(before: str, after: str) -> None:
    summed(before + '{"summary": "' + after)
    summed(after)


@given(st.text(min_size=1).filter(lambda text: text.strip()), st.integers(0, 10_000))
def test_a_summary_cut_off_anywhere_is_its_own_beginning(text: str, cut: int) -> None:
    whole = text.strip()
    encoded = json.dumps({"summary": whole})
    head = len('{"summary": "')
    left = encoded[: head + 1 + cut % (len(encoded) - head)]
    read = summed(left).summary
    assert whole.startswith(read) or read == left.strip() or "\ud83d" <= read[-1:] <= "\udfff"
