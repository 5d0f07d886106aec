"""No argument of an operation takes a number that is none, or that has no end."""

from __future__ import annotations

import pytest

from nanobot.errors import UsageError
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.parameters import Parameter

PARAMETERS = {
    f"{operation.name} {parameter.name}": parameter
    for operation in (*OPERATIONS, *plugin_operations())
    for parameter in operation.parameters
    if parameter.kind in {int, float}
}
ABSURD = ("inf", "-inf", "nan", "1e308", "1e400", "-1e308", "9" * 30, "1" + "0" * 5_000)


def test_the_list_holds_the_numbers_of_every_plugin() -> None:
    assert len(PARAMETERS) > 40
    assert "sessions notices since" in PARAMETERS


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=PARAMETERS)
def test_every_number_is_finite(parameter: Parameter) -> None:
    for text in ABSURD:
        with pytest.raises(UsageError, match=rf"^`{parameter.name}` (must be|is too large)"):
            parameter.converted(text, strict=False)
    for value in (float("inf"), float("-inf"), float("nan"), 1e308, 10**400):
        with pytest.raises(UsageError, match=rf"^`{parameter.name}` (must be|is too large)"):
            parameter.converted(value, strict=True)
