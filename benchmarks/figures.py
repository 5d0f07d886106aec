"""Figures: what a scenario measures, and how it is shown."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.stage import Stage, Subject

Sample = Mapping[str, float]


@dataclass(frozen=True)
class Measure:
    """One figure of a scenario."""

    key: str
    title: str
    unit: str


@dataclass(frozen=True)
class Scenario:
    """`sample` measures a subject once; it may leave out what cannot be measured here."""

    name: str
    measures: Sequence[Measure]
    sample: Callable[[Stage, Subject], Awaitable[Sample]]
    subjects: Sequence[Subject] = (Subject.FLOOR, Subject.NANOBOT)
    versions: bool = False
    """An earlier version can be measured, too: all that runs is its process."""
    once: bool = False
    """It tells the same each time, so that one run is enough."""
    unit_of_others: str = ""
    """Figures that `measures` does not name are shown by their keys, in this unit ("": not)."""

    @property
    def about(self) -> str:
        """The first paragraph of the docstring of its function, in one line."""
        text = (self.sample.__doc__ or "").partition("\n\n")[0]
        return " ".join(text.split())


@dataclass
class Result:
    """Every sample of a scenario."""

    scenario: Scenario
    samples: dict[Subject, list[Sample]] = field(default_factory=dict)
    notes: dict[str, object] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """The measures for which there is a figure."""
        measures = [*self.scenario.measures, *self._others()]
        rows = [Row(measure, self._values(measure.key)) for measure in measures]
        return [row for row in rows if row.median(Subject.NANOBOT) is not None]

    def _others(self) -> list[Measure]:
        unit = self.scenario.unit_of_others
        if not unit:
            return []
        listed = {measure.key for measure in self.scenario.measures}
        keys = {key: None for samples in self.samples.values() for one in samples for key in one}
        return [Measure(key, f"`{key}`", unit) for key in keys if key not in listed]

    def _values(self, key: str) -> dict[Subject, list[float]]:
        return {
            subject: [sample[key] for sample in samples if key in sample]
            for subject, samples in self.samples.items()
        }

    def as_json(self) -> dict[str, Any]:
        """The scenario's part of the report."""
        return {
            "about": self.scenario.about,
            "rows": [row.as_json() for row in self.rows()],
            "notes": self.notes,
        }


@dataclass(frozen=True)
class Row:
    """One measure with every value it had."""

    measure: Measure
    values: Mapping[Subject, Sequence[float]]

    def median(self, subject: Subject) -> float | None:
        """The subject's figure; None if there is none."""
        values = self.values.get(subject)
        return statistics.median(values) if values else None

    @property
    def ratio(self) -> float | None:
        """nanobot's figure over the floor's."""
        ours, floor = self.median(Subject.NANOBOT), self.median(Subject.FLOOR)
        return ours / floor if ours is not None and floor else None

    @property
    def pairs(self) -> list[float]:
        """This version's figure over the earlier one's, of each run that has both, in order."""
        ours = self.values.get(Subject.NANOBOT, ())
        theirs = self.values.get(Subject.EARLIER, ())
        return [now / before for now, before in zip(ours, theirs, strict=False) if before]

    def as_json(self) -> dict[str, Any]:
        """The row's part of the report."""
        return {
            "key": self.measure.key,
            "title": self.measure.title,
            "unit": self.measure.unit,
            "nanobot": self.median(Subject.NANOBOT),
            "floor": self.median(Subject.FLOOR),
            "ratio": self.ratio,
            "earlier": self.median(Subject.EARLIER),
            "pairs": self.pairs,
            "values": {subject.value: list(values) for subject, values in self.values.items()},
        }


HEAD = ("scenario", "measure", "nanobot", "floor", "unit", "ratio")
PAIRS = ("earlier", "now / earlier", "of the pairs")


def table(results: Sequence[Result]) -> str:
    """A table for people, which is Markdown too; with two versions, three more columns."""
    both = any(row.pairs for result in results for row in result.rows())
    lines = [HEAD + PAIRS if both else HEAD]
    for result in results:
        for number, row in enumerate(result.rows()):
            cells = (
                f"`{result.scenario.name}`" if number == 0 else "",
                row.measure.title,
                shown(row.median(Subject.NANOBOT)),
                shown(row.median(Subject.FLOOR)),
                row.measure.unit,
                shown(row.ratio),
            )
            lines.append(cells + _of_pairs(row) if both else cells)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_line(line, widths) for line in (lines[0], rule, *lines[1:]))


def _of_pairs(row: Row) -> tuple[str, str, str]:
    """The earlier figure, the median of the pairs' ratios, and their quarter to three quarters."""
    pairs = row.pairs
    if not pairs:
        return shown(row.median(Subject.EARLIER)), "-", "-"
    low, middle, high = (
        statistics.quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else pairs * 3
    )
    return shown(row.median(Subject.EARLIER)), f"{middle:.2f}", f"{low:.2f} to {high:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def shown(value: float | None) -> str:
    """Three digits that count; a dash for nothing."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{1 if abs(value) >= 10 else 2}f}"
