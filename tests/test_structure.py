"""What `make structure` draws is what the imports say."""

from __future__ import annotations

from graphlib import CycleError

import pytest

from tests.structure import ordered, room_of


def test_a_room_is_what_lies_directly_below_the_package() -> None:
    assert room_of("nanobot.store.journal.lanes", "nanobot") == "store"
    assert room_of("nanobot.store.journal.lanes", "nanobot.store") == "journal"
    assert room_of("nanobot_channels.udp", "nanobot") == "nanobot_channels"


def test_rooms_stand_above_what_they_import() -> None:
    assert list(ordered(["c", "a", "b"], [("a", "b"), ("b", "c")])) == ["a", "b", "c"]


def test_a_circle_has_no_order() -> None:
    with pytest.raises(CycleError):
        list(ordered(["a", "b"], [("a", "b"), ("b", "a")]))
