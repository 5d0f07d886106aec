"""Evals: saved questions with checks, put to models again to detect worse answers."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.evals.settings import EvalsSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="evals",
    summary="Regression tests of answers.",
    texts=Path(__file__).parent,
    settings=EvalsSettings,
    migrations=(
        "CREATE TABLE evals_results (id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, "
        "folder TEXT NOT NULL, body TEXT NOT NULL)",
        "CREATE INDEX evals_results_at ON evals_results (at)",
        "CREATE TABLE evals_nights (day TEXT PRIMARY KEY)",
    ),
    groups={"evals": "Evals: regression tests of answers."},
    operations="nanobot.plugins.evals.operations:operations",
    page="nanobot.plugins.evals.view:views",
    start="nanobot.plugins.evals.start:start",
)
