"""What the parameters of a plugin's function get."""

from __future__ import annotations

import pytest

from nanobot.errors import PluginBroken
from nanobot.seam.offers import NOTHING, Offers


def function(
    a: int, b: float | None = None, c: str | None = None, *, d: bytes = b""
) -> tuple[object, ...]:
    return a, b, c, d


def test_a_parameter_without_its_object_leaves_the_others_what_they_ask_for() -> None:
    assert Offers({int: 1, str: "c"}).call(function, NOTHING) == (1, None, "c", b"")
    assert Offers({int: 1, float: 2.0}).call(function, {bytes: b"d"}) == (1, 2.0, None, b"d")


def test_a_parameter_without_a_default_and_its_object_is_named() -> None:
    with pytest.raises(PluginBroken, match="its parameter a asks for int, which is not offered"):
        Offers({str: "c"}).call(function, NOTHING)


class Made:
    """Made of what its constructor asks for."""

    def __init__(self, number: int, text: str | None = None) -> None:
        self.given = (number, text)


class MadeOfNothing:
    """Asks for nothing."""


def test_a_class_gets_what_its_constructor_asks_for() -> None:
    assert Offers({int: 1, str: "c"}).call(Made, NOTHING).given == (1, "c")
    assert isinstance(Offers().call(MadeOfNothing, NOTHING), MadeOfNothing)
