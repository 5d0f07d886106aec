"""Owners, new messages and the backlog of a start take turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nanobot.bus.wake_ups import Turn, Turns, chosen

TURNS = st.sampled_from(Turn)
PUTS = st.lists(st.tuples(st.integers(0, 20).map(str), TURNS), max_size=60)


def taken(turns: Turns) -> list[str]:
    keys = []
    while turns:
        keys.append(turns.take())
    return keys


@given(st.sets(TURNS, min_size=1), TURNS)
def test_each_queue_is_chosen_within_as_many_choices_as_there_are_queues(
    waiting: set[Turn], last: Turn
) -> None:
    choices = []
    for _ in Turn:
        last = chosen(waiting, last)
        choices.append(last)
    assert set(choices) == waiting
    assert set(choices[: len(waiting)]) == waiting  # and nobody is chosen twice before


@given(PUTS)
def test_each_key_is_taken_once_from_its_best_queue_in_order(puts: list[tuple[str, Turn]]) -> None:
    turns = Turns()
    best: dict[str, Turn] = {}
    for key, turn in puts:
        turns.put(key, turn)
        if turn < best.get(key, len(Turn)):
            best.pop(key, None)
            best[key] = turn
    order = taken(turns)
    assert sorted(order) == sorted(best)
    for queue in Turn:
        assert [key for key in order if best[key] is queue] == [
            key for key, turn in best.items() if turn is queue
        ]


@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_what_comes_later_waits_for_two_of_any_backlog(backlog: int, served: int) -> None:
    turns = Turns()
    for number in range(min(backlog, 300)):
        turns.put(f"old {number}", Turn.BACKLOG)
    for _ in range(min(served, backlog - 1, 299)):
        turns.take()
    turns.put("owner", Turn.OWNER)
    turns.put("new", Turn.NEW)
    assert {"owner", "new"} <= set(taken(turns)[:3])


def test_a_chat_of_the_backlog_that_writes_again_comes_forward() -> None:
    turns = Turns()
    for number in range(100):
        turns.put(f"{number}", Turn.BACKLOG)
    turns.put("99", Turn.NEW)
    order = taken(turns)
    assert "99" in order[:2]
    assert len(order) == 100
