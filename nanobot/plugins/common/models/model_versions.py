"""Versions in the names of models."""

from __future__ import annotations

import re


def version_in(pattern: re.Pattern[str], model: str) -> tuple[int, int]:
    """The version in a model's name. A name without a version counts as the newest."""
    found = pattern.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)
