"""What programs import from `nanobot` itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nanobot

ROOT = Path(nanobot.__file__).parent
NAMES = [name for name in nanobot.__all__ if name[0] != "_"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(nanobot, name).__name__ == name


def test_a_name_that_is_not_public_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Lanes'"):
        _ = nanobot.Lanes  # type: ignore[attr-defined]


def test_type_checkers_are_told_the_same_names() -> None:
    stub = ast.parse((ROOT / "__init__.pyi").read_text("utf-8"))
    named = {
        (alias.name, node.module)
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for name, _ in named} == set(NAMES)
    for name, module in named:
        assert getattr(nanobot, name) is getattr(sys.modules[str(module)], name)
    assert (ROOT / "py.typed").exists()


def test_importing_the_package_loads_only_what_finds_promised_paths() -> None:
    code = "import nanobot, sys; print([m for m in sys.modules if m.startswith('nanobot.')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "['nanobot.promised']"
