"""Labels are a lattice: whatever is derived, in whatever order, keeps who said it and how private
it is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot import labels
from nanobot.labels import MOST_TOOLS, NOTHING, UNKNOWN, Label, Privacy, Speaker

NAMES = st.sampled_from([f"tool_{number}" for number in range(MOST_TOOLS + 3)])
PLAIN = st.builds(
    labels.of, st.sampled_from(Speaker), st.sampled_from(Speaker), privacy=st.sampled_from(Privacy)
)
LABELS = st.lists(PLAIN | NAMES.map(labels.of_tool), max_size=MOST_TOOLS + 4).map(labels.joined)


@given(LABELS, LABELS, LABELS)
def test_join_is_associative_commutative_and_idempotent(a: Label, b: Label, c: Label) -> None:
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(b) == b.join(a)
    assert a.join(a) == a
    assert a.join(NOTHING) == a


@given(LABELS, LABELS, LABELS)
def test_join_is_the_least_label_above_both(a: Label, b: Label, c: Label) -> None:
    both = a.join(b)
    assert a <= both
    assert b <= both
    if a <= c and b <= c:
        assert both <= c


@given(LABELS, LABELS, LABELS)
def test_join_is_monotone(a: Label, b: Label, c: Label) -> None:
    assert a.join(c) <= a.join(b).join(c)
    assert not a.tainted or a.join(b).tainted
    assert a.join(b).privacy >= a.privacy


@given(LABELS, LABELS)
def test_order_is_partial(a: Label, b: Label) -> None:
    assert a <= a
    if a <= b and b <= a:
        assert a == b


@given(LABELS)
def test_what_is_stored_reads_as_the_same_label(label: Label) -> None:
    assert labels.read(label.encoded()) == label
    assert labels.read(label.encoded(), tainted=label.tainted) == label


@given(st.text(max_size=20), st.booleans())
def test_any_text_reads_as_a_label_and_never_loses_the_bit(text: str, tainted: bool) -> None:
    label = labels.read(text, tainted=tainted)
    assert not tainted or label.tainted
    assert labels.read(label.encoded()) == label


@pytest.mark.parametrize("text", ["o", "9", "o9", "zz1", "1o", "-1", "o1 ", "ö1", "¹"])
def test_what_is_no_label_commands_nothing(text: str) -> None:
    assert labels.read(text) == UNKNOWN


def test_rows_from_before_labels_are_read_by_their_bit() -> None:
    assert labels.read("") == NOTHING
    assert labels.read("", tainted=True).tainted


def test_owners_and_members_alone_taint_nothing() -> None:
    for some in itertools.chain.from_iterable(
        itertools.combinations(Speaker, count) for count in range(3)
    ):
        expected = not set(some) <= {Speaker.OWNER, Speaker.MEMBER}
        assert labels.of(*some).tainted is expected
