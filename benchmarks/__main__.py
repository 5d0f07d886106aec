"""`python -m benchmarks [NAME ...]`: measure, show a table, and with --json keep everything."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.builds import built
from benchmarks.figures import Result, Scenario, table
from benchmarks.scenarios import SCENARIOS
from benchmarks.stage import QUICK, BenchmarkError, Effort, Stage, Subject, open_stage

SCENARIO_SECONDS = 900.0
INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns the exit code."""
    chosen = _arguments()
    results: list[Result] = []
    failed: dict[str, str] = {}
    try:
        pythons = built(chosen.against, say) if chosen.against else {}
        asyncio.run(_measure(chosen, pythons, results, failed))
    except BenchmarkError as error:
        say(str(error))
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("interrupted; what was measured:")
        failed["interrupted"] = "not everything was measured"
    print(table(results))
    for name, why in failed.items():
        say(f"{name} failed: {why}")
    if chosen.json is not None:
        report = _report(chosen, results, failed)
        chosen.json.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    if "interrupted" in failed:
        return INTERRUPTED
    return 1 if failed else 0


def say(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    about = "\n".join(f"  {name:10}{one.about}" for name, one in SCENARIOS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure nanobot and the smallest possible gateway.",
        epilog=f"names:\n{about}\n\ndocs/benchmarks.md says how to read the figures.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="what to measure (default: everything)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file")
    parser.add_argument(
        "--runs", type=int, help="number of runs; the table shows medians (3, with --against 9)"
    )
    parser.add_argument(
        "--against",
        metavar="REV",
        help="install this revision, too, and measure both in alternation",
    )
    parser.add_argument("--quick", action="store_true", help="a few turns of each, only to try it")
    parser.add_argument(
        "--folder", type=Path, help="the folder for files: on a real disk, not in memory"
    )
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in SCENARIOS]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    if chosen.runs is None:
        chosen.runs = 9 if chosen.against else 3
    if chosen.against:
        pairs = [name for name, one in SCENARIOS.items() if one.versions]
        if alone := [name for name in chosen.names if name not in pairs]:
            parser.error(
                f"{', '.join(alone)}: with --against only {', '.join(pairs)} can be measured"
            )
        chosen.names = chosen.names or pairs
    if chosen.runs < 1:
        parser.error("--runs must be at least 1")
    return chosen


async def _measure(
    chosen: argparse.Namespace,
    pythons: Mapping[Subject, Path],
    results: list[Result],
    failed: dict[str, str],
) -> None:
    task = asyncio.current_task()
    assert task is not None
    # SIGINT does the same by itself: either way, what was started is ended.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=chosen.folder))
    async with open_stage(folder, QUICK if chosen.quick else Effort(), say) as stage:
        stage.pythons = pythons
        for name in chosen.names or SCENARIOS:
            result = Result(SCENARIOS[name])
            results.append(result)
            begin = time.monotonic()
            try:
                async with asyncio.timeout(SCENARIO_SECONDS):
                    await _sample(stage, result, chosen.runs)
            except (BenchmarkError, TimeoutError) as error:
                failed[name] = str(error) or f"took longer than {SCENARIO_SECONDS:g} s"
            say(f"{name}: {time.monotonic() - begin:.1f} s")


async def _sample(stage: Stage, result: Result, runs: int) -> None:
    """Every subject in every run, by turns, so that what disturbs one disturbs the other."""
    scenario: Scenario = result.scenario
    stage.notes = result.notes
    subjects = list(scenario.subjects)
    if Subject.EARLIER in stage.pythons:
        subjects.append(Subject.EARLIER)
    for run in range(1 if scenario.once else runs):
        # The other way round each time: whoever goes second finds a warmer machine.
        for subject in subjects if run % 2 == 0 else reversed(subjects):
            say(f"{scenario.name}: run {run + 1}, {subject}")
            sample = await scenario.sample(stage, subject)
            result.samples.setdefault(subject, []).append(sample)


def _report(
    chosen: argparse.Namespace, results: Sequence[Result], failed: dict[str, str]
) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
        },
        "runs": chosen.runs,
        "quick": chosen.quick,
        "against": chosen.against,
        "scenarios": {result.scenario.name: result.as_json() for result in results},
        "failed": failed,
    }


if __name__ == "__main__":
    sys.exit(main())
