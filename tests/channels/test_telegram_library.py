"""python-telegram-bot is loaded without what it takes in and the channel has no use for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from nanobot_channels._telegram_library import absent


def test_what_was_hidden_while_it_loaded_can_be_had_afterwards() -> None:
    code = (
        "import sys, nanobot_channels.telegram\n"
        "assert not {'rich', 'httpx._main'} & sys.modules.keys()\n"
        "import httpx, httpx._main\n"
        "httpx.Client().close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_loaded_already_is_not_hidden_and_nothing_stays_so() -> None:
    before = dict(sys.modules)
    with absent("json", "nowhere_at_all"):
        assert sys.modules["json"] is before["json"]
        with pytest.raises(ImportError):
            importlib.import_module("nowhere_at_all")
    assert dict(sys.modules) == before
