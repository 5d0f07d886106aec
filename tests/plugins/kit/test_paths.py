"""What authors import for their tests: `nanobot.testing` and its modules, which look in the kit."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path

import pytest

import nanobot.testing

FOLDER = Path(nanobot.__file__).parent / "testing"
PATHS = [
    "nanobot.testing",
    *(f"nanobot.testing.{file.stem}" for file in sorted(FOLDER.glob("[a-z]*.pyi"))),
]


def module_of(path: str) -> str:
    """The module of the kit in which a path looks."""
    return f"nanobot.plugins.kit.{path.removeprefix('nanobot.testing').lstrip('.') or 'public'}"


def typed(path: str) -> dict[str, str]:
    """The names that type checkers see, each with its module."""
    name = path.removeprefix("nanobot.testing").lstrip(".") or "__init__"
    return {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse((FOLDER / f"{name}.pyi").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def offered(module: str) -> set[str]:
    """The public names of a module: those that it exports, or the functions and classes in it."""
    there = vars(import_module(module))
    defined = (
        name
        for name, value in there.items()
        if getattr(value, "__module__", "") == module and isfunction(value) | isclass(value)
    )
    return set(there.get("__all__", (name for name in defined if not name.startswith("_"))))


@pytest.mark.parametrize("path", PATHS)
def test_a_path_has_the_names_of_the_kit_and_type_checkers_see_them(path: str) -> None:
    there = import_module(path)
    assert set(typed(path)) >= offered(module_of(path)) > set()
    for name, module in typed(path).items():
        assert getattr(there, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_names_the_plugin_where_it_is_not_there(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = import_module(path)
    monkeypatch.setitem(sys.modules, module_of(path), None)
    with pytest.raises(ImportError, match=rf"^{path} belongs to the plugin kit, which is not"):
        _ = there.anything


def test_the_function_gateway_is_not_hidden_by_the_module_of_its_name() -> None:
    module = import_module("nanobot.testing.gateway")
    assert nanobot.testing.gateway is module.gateway


def test_a_check_of_one_port_loads_no_gateway() -> None:
    code = (
        "import sys; from nanobot.testing.tools import CHECKS; print('nanobot.app' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
