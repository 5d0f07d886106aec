"""The promised import paths of the testing kit, which is the plugin `kit`."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin
from nanobot.testing import gateway

# The function `gateway` has the name of the module that it is in. Importing the module sets this
# name once; from here on it is looked up like the others, and is the function.
del gateway

__getattr__ = from_plugin(__name__, "kit", "nanobot.plugins.kit.public")
