"""Documented import paths that changed still work for one version, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

MOVED = {
    "nanobot.cron.service": "nanobot.triggers.cron.service",
    "nanobot.session.manager": "nanobot.plugins.library.sessions",
    "nanobot.tasks.port": "nanobot.session.tasks",
    "nanobot.tasks.types": "nanobot.agent.tasks.types",
}


@pytest.mark.parametrize("old", MOVED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_path_is_the_module_itself(old: str) -> None:
    assert importlib.import_module(old) is importlib.import_module(MOVED[old])


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_names_the_new_one(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (old, old.rpartition(".")[0]):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]};"):
        importlib.import_module(old)


def test_a_module_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nanobot.cron.nowhere")
