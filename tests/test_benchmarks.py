"""`python -m benchmarks` measures nanobot and the floor, and reports both."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.figures import Measure, Result, Scenario, table
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.alone import EVERY
from benchmarks.stage import Stage, Subject

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False
    )


def test_a_turn_of_nanobot_is_reported_beside_the_floor(tmp_path: Path) -> None:
    kept = tmp_path / "report.json"
    ended = bench("turn", "--quick", "--runs", "1", "--json", str(kept))
    assert ended.returncode == 0, ended.stderr
    report = json.loads(kept.read_text("utf-8"))
    assert report["failed"] == {}
    assert report["runs"] == 1
    assert set(report["machine"]) == {"python", "system", "cores", "load"}
    (name,) = report["scenarios"]
    assert name == "turn"
    rows = {row["key"]: row for row in report["scenarios"]["turn"]["rows"]}
    assert set(rows) == {"p50", "p95", "cpu", "calls"}
    for row in rows.values():
        assert row["nanobot"] > 0
        assert row["floor"] > 0
        assert row["ratio"] == pytest.approx(row["nanobot"] / row["floor"])
        assert {subject: len(values) for subject, values in row["values"].items()} == {
            "nanobot": 1,
            "floor": 1,
        }
    used = re.search(r"files: (\S+)", ended.stderr)
    assert used
    assert not Path(used[1]).exists()
    for row in rows.values():
        assert row["title"] in ended.stdout


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    ended = bench("turns")
    assert ended.returncode == 2
    assert all(name in ended.stderr for name in SCENARIOS)


def test_what_could_not_be_measured_is_left_out_of_the_table() -> None:
    async def sample(_: Stage, __: Subject) -> dict[str, float]:
        return {}

    seen, unseen = Measure("a", "seen", "ms"), Measure("b", "unseen", "ms")
    result = Result(Scenario("some", (seen, unseen), sample))
    result.samples[Subject.NANOBOT] = [{"a": 3.0}, {"a": 1.0}, {"a": 2.0}]
    result.samples[Subject.FLOOR] = [{"a": 0.5}]
    assert "unseen" not in table([result])
    (row,) = result.rows()
    assert row.median(Subject.NANOBOT) == 2.0
    assert row.ratio == 4.0


def test_the_help_says_of_every_scenario_what_it_measures() -> None:
    ended = bench("--help")
    assert "python -m benchmarks --help" in DOCUMENT
    for name, scenario in SCENARIOS.items():
        assert len(scenario.about) > 40, name
        assert f"  {name:10}{scenario.about}\n" in ended.stdout, name


def test_every_figure_on_the_page_is_of_a_scenario() -> None:
    shown = re.findall(r"^\| `(\w+)` \| .+ \| ", DOCUMENT, re.MULTILINE)
    assert len(shown) > 10
    assert set(shown) <= set(SCENARIOS)


def test_the_imports_of_every_command_that_ends_by_itself_are_measured() -> None:
    assert {("status",), ("sessions", "delete"), ("config", "schema")} <= set(EVERY)
    assert EVERY["sessions", "delete"] == ("1",)
    titles = [measure.title for measure in SCENARIOS["imports"].measures]
    assert len(titles) == len(EVERY) + 1


def test_two_versions_are_compared_run_by_run() -> None:
    async def sample(_: Stage, __: Subject) -> dict[str, float]:
        return {}

    result = Result(Scenario("some", (Measure("a", "seen", "ms"),), sample, versions=True))
    result.samples[Subject.NANOBOT] = [{"a": 2.0}, {"a": 30.0}, {"a": 3.0}]
    result.samples[Subject.EARLIER] = [{"a": 1.0}, {"a": 10.0}, {"a": 3.0}]
    (row,) = result.rows()
    assert row.pairs == [2.0, 3.0, 1.0]
    shown = table([result])
    assert "now / earlier" in shown
    assert "| 2.00          | 1.50 to 2.50 |" in shown


def test_a_revision_that_is_not_there_is_refused_before_anything_is_measured() -> None:
    ended = bench("turn", "--against", "no-such-revision")
    assert ended.returncode == 1
    assert "git knows no revision 'no-such-revision'" in ended.stderr
    assert "turn: run" not in ended.stderr


def test_what_needs_no_gateway_cannot_be_compared() -> None:
    ended = bench("recall", "--against", "HEAD")
    assert ended.returncode == 2
    assert "with --against only turn, tools, many, flood, start" in ended.stderr
