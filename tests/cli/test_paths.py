"""A path that a person gives is one of the folder where they are, not of the gateway's."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import Operation
from nanobot.plugins.common.commands.performing import _on_this_machine

PATHS = [
    (operation, each.name)
    for operation in (*OPERATIONS, *plugin_operations())
    for each in operation.parameters
    if each.on_machine
]


def test_there_are_operations_with_paths() -> None:
    assert PATHS


@pytest.mark.parametrize(
    ("operation", "name"), PATHS, ids=[f"{each.name} {name}" for each, name in PATHS]
)
def test_a_path_is_absolute_before_a_gateway_in_another_folder_gets_it(
    operation: Operation, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    given = {"x.txt": str(tmp_path / "x.txt"), "~/x": "/home/ann/x", "/x": "/x"}
    for path, absolute in given.items():
        assert _on_this_machine(operation, {name: path, "id": "x"}) == {name: absolute}
    assert _on_this_machine(operation, {name: ""}) == {}
