"""Promised import paths lead where their stubs say, for programs and for type checkers."""

from __future__ import annotations

import ast
import importlib
import pickle
import subprocess
import sys

import pytest

import nanobot
from nanobot.promised import OUTDATED, promised
from tests.syntax import ROOT

PROMISED = dict(promised())


def typed(path: str) -> dict[str, str]:
    """The names that type checkers see at a promised path, each with its module."""
    file = ROOT / path.replace(".", "/")
    stub = file / "__init__.pyi" if file.is_dir() else file.with_suffix(".pyi")
    return {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(ast.parse(stub.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("path", PROMISED)
def test_a_promised_path_has_the_very_objects_of_its_module(path: str) -> None:
    here, there = importlib.import_module(path), importlib.import_module(PROMISED[path])
    assert here.__name__ == path
    assert PROMISED[path] in str(here.__doc__)
    public = [name for name in vars(there) if not name.startswith("_")]
    assert public
    for name in public:
        assert getattr(here, name) is getattr(there, name)
    assert set(getattr(there, "__all__", public)) == set(vars(here)["__getattr__"]("__all__"))


@pytest.mark.parametrize("path", PROMISED)
def test_type_checkers_see_names_that_a_promised_path_has(path: str) -> None:
    names = typed(path)
    assert names
    here = importlib.import_module(path)
    for name in names.keys() - {"*"}:
        assert getattr(here, name) is getattr(importlib.import_module(names[name]), name)


@pytest.mark.parametrize("path", PROMISED)
def test_no_module_hides_behind_a_promised_path(path: str) -> None:
    file = ROOT / path.replace(".", "/")
    assert not file.with_suffix(".py").exists()
    assert not (file / "__init__.py").exists()


def test_the_packages_around_promised_paths_are_found() -> None:
    for path in [*PROMISED, *OUTDATED]:
        assert hasattr(importlib.import_module(path.rpartition(".")[0]), "__path__")


def test_a_stub_imports_from_one_module() -> None:
    for path, module in PROMISED.items():
        assert set(typed(path).values()) == {module}


def test_the_stub_of_the_kit_has_its_public_names() -> None:
    here, there = importlib.import_module("nanobot.testing"), typed("nanobot.testing")
    public = importlib.import_module("nanobot.plugins.kit.public")
    assert set(there) == set(public.__all__)
    for name in there:
        assert getattr(here, name) is getattr(public, name)
    importlib.import_module("nanobot.testing.gateway")
    assert here.gateway is public.gateway


def test_a_star_imports_the_names_of_the_other_module() -> None:
    names: dict[str, object] = {}
    exec("from nanobot.bus.events import *", names)  # no function may have a star
    assert names["InboundMessage"] is nanobot.InboundMessage


def test_what_was_pickled_by_a_promised_path_is_read() -> None:
    old = b"cnanobot.agent.loop\nCancelToken\n."
    assert pickle.loads(old) is nanobot.CancelToken
    assert pickle.loads(pickle.dumps(nanobot.CancelToken)) is nanobot.CancelToken


def test_python_shows_the_help_of_a_promised_path() -> None:
    command = [sys.executable, "-m", "pydoc", "nanobot.agent.loop"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "nanobot.plugins.library.agent_loop" in done.stdout


def test_without_the_plugins_each_path_says_whose_it_is() -> None:
    code = (
        "import sys, importlib; sys.modules['nanobot.plugins'] = None\n"
        "from nanobot.promised import promised\n"
        "for path in dict(promised()):\n"
        "    there = importlib.import_module(path)\n"
        "    try: there.anything\n"
        "    except (ImportError, AttributeError) as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for line, (path, module) in zip(done.stdout.splitlines(), PROMISED.items(), strict=True):
        plugin = module.split(".")[2] if module.startswith("nanobot.plugins.") else ""
        if plugin == "common":
            assert line == f"{path} belongs to the built-in plugins, which are not there"
        elif plugin:
            assert line == f"{path} belongs to the plugin {plugin}, which is not there"
        else:
            assert line == f"module '{path}' has no attribute 'anything'"


@pytest.mark.parametrize("old", OUTDATED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_path_is_the_module_itself(old: str) -> None:
    assert importlib.import_module(old) is importlib.import_module(OUTDATED[old])


@pytest.mark.parametrize("old", OUTDATED)
def test_an_old_path_names_the_new_one(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (old, old.rpartition(".")[0]):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {OUTDATED[old]};"):
        importlib.import_module(old)


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nanobot.cron.nowhere")
