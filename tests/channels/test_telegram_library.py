"""python-telegram-bot is loaded without what it takes in and the channel has no use for."""

from __future__ import annotations

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nanobot_channels.telegram.library import absent


@pytest.mark.process
def test_what_was_hidden_while_it_loaded_can_be_had_afterwards() -> None:
    code = (
        "import sys, nanobot_channels.telegram\n"
        "assert not {'rich', 'httpx._main', 'cryptography', 'pytz'} & sys.modules.keys()\n"
        "import httpx, httpx._main, cryptography.hazmat.primitives.hashes, pytz\n"
        "httpx.Client().close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_loaded_already_is_not_hidden_and_nothing_stays_so() -> None:
    before, finders = dict(sys.modules), list(sys.meta_path)
    with absent("json", "this"):
        assert importlib.import_module("json") is before["json"]
        with pytest.raises(ModuleNotFoundError, match="this"):
            importlib.import_module("this")
    assert (dict(sys.modules), sys.meta_path) == (before, finders)


def test_another_thread_can_import_meanwhile_what_is_hidden_here() -> None:
    with absent("colorsys"), ThreadPoolExecutor(1) as elsewhere:
        module = elsewhere.submit(importlib.import_module, "colorsys").result()
    assert module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_what_is_within_a_hidden_package_is_hidden_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_nobody_else").mkdir()
    (tmp_path / "of_nobody_else" / "within.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with absent("of_nobody_else"), pytest.raises(ModuleNotFoundError, match="of_nobody_else"):
        importlib.import_module("of_nobody_else.within")
    within = importlib.import_module("of_nobody_else.within")
    assert within.__name__ == "of_nobody_else.within"
