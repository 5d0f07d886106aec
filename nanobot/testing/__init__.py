"""The promised path of the plugin `kit`: fakes for tests, ours and yours."""

from __future__ import annotations

from importlib import import_module

from nanobot.promised import names_of

__getattr__ = names_of("nanobot.plugins.kit.public", __name__)
# Its function `gateway` has the name of a module beneath it. Importing this module sets the name
# once; from here on it is looked up like the others, and is the function.
import_module("nanobot.testing.gateway")
del globals()["gateway"]
