"""Options as the command line has them, written in a chat."""

from __future__ import annotations

import pytest

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter, parsed

NAMED = [
    pytest.param(operation, named, id=operation.name)
    for operation in (*OPERATIONS, *plugin_operations())
    if operation.in_lane is None
    and (named := [parameter for parameter in operation.parameters if not parameter.rest])
]


@pytest.mark.parametrize(("operation", "named"), NAMED)
def test_each_option_is_understood_as_on_the_command_line(
    operation: Operation, named: list[Parameter]
) -> None:
    for parameter in named:
        _is_understood(operation, parameter)


def _is_understood(operation: Operation, parameter: Parameter) -> None:
    value = {bool: "true", int: "3", float: "3"}.get(parameter.kind, "word")
    value = parameter.choices[0] if parameter.choices else value
    option = f"--{parameter.name.replace('_', '-')}"
    forms = [f"{option} {value}", f"{option}={value}"] if parameter.kind is not bool else [option]
    for form in (*forms, forms[0].replace("--", "\u2014")):
        assert parsed(operation.parameters, form) == {parameter.name: value}, form


@pytest.mark.parametrize(("operation", "named"), NAMED)
def test_each_value_may_be_in_quotes_with_blanks(
    operation: Operation, named: list[Parameter]
) -> None:
    for parameter in named:
        for quotes in ('""', "''", "“”", "‘’"):
            _is_understood_in(quotes, operation, parameter)


def _is_understood_in(quotes: str, operation: Operation, parameter: Parameter) -> None:
    value = f"{quotes[0]}0 9 * *{quotes[1]}"
    for form in (f"{parameter.name}={value}", f"--{parameter.name.replace('_', '-')} {value}"):
        if parameter.kind is not bool:
            assert parsed(operation.parameters, form) == {parameter.name: "0 9 * *"}, form


def test_quotes_within_a_text_are_left_to_it() -> None:
    edit = next(each for each in plugin_operations() if each.name == "cron edit")
    parameters = edit.parameters
    assert parsed(parameters, 'tea schedule="0 9 * * *" Say "hello" to = "all"') == {
        "job": "tea",
        "schedule": "0 9 * * *",
        "text": 'Say "hello" to = "all"',
    }
    assert parsed(parameters, 'tea schedule="0 9') == {
        "job": "tea",
        "schedule": '"0',
        "text": "9",
    }
