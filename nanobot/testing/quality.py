"""Checks of a channel's manifest, for authors of channels, and the table that documents it.

def test_the_manifest_names_tests_that_exist() -> None:
    check_manifest(Path("my_channel/manifest.toml"), tests=Path("tests"))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from nanobot.channels.quality import RULES, Manifest
from nanobot.testing.promises import that


def check_manifest(file: Path, tests: Path) -> Manifest:
    """Read a manifest. Fails if it contradicts the scale or names a test that is not in the folder
    `tests`; a test is "FILE::FUNCTION"."""
    manifest = msgspec.toml.decode(file.read_bytes(), type=Manifest)
    problems = [*manifest.problems(), *_missing(manifest, tests)]
    that(not problems, f"{file}: " + "; ".join(problems))
    return manifest


def _missing(manifest: Manifest, tests: Path) -> Iterator[str]:
    for rule, named in manifest.done.items():
        for test in named:
            file, _, function = test.partition("::")
            if function not in _functions(tests / file):
                yield f"done.{rule}: there is no test {test}"


def _functions(file: Path) -> set[str]:
    if not file.is_file():
        return set()
    nodes = ast.parse(file.read_text("utf-8")).body
    return {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def quality_table(manifests: Mapping[str, Manifest]) -> str:
    """The grades and every rule of these channels, in Markdown; exempt and open rules follow with
    their reasons."""
    heads = [manifest.platform for manifest in manifests.values()]
    lines = [f"| | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    grades = [manifest.grade or "none" for manifest in manifests.values()]
    lines.append(f"| **Grade** | {' | '.join(f'**{grade}**' for grade in grades)} |")
    for grade, rules in RULES.items():
        for rule in rules:
            cells = [_state(manifest, rule) for manifest in manifests.values()]
            lines.append(f"| {grade}: `{rule}` | {' | '.join(cells)} |")
    for manifest in manifests.values():
        lines += ["", f"### {manifest.platform}", "", *_notes(manifest)]
    return "\n".join(lines) + "\n"


def _state(manifest: Manifest, rule: str) -> str:
    if rule in manifest.done:
        return "done"
    return "exempt" if rule in manifest.exempt else "**open**"


def _notes(manifest: Manifest) -> Iterator[str]:
    source = manifest.source
    if source.startswith("https://"):
        source = f"[documentation]({source})"
    yield f"Built to {manifest.api} ({source}, read on {manifest.read_on})."
    yield f"Owner: {manifest.owner}."
    reasons = [
        f"- {name}: `{rule}`. {says}"
        for name, table in (("Open", manifest.open), ("Exempt", manifest.exempt))
        for rule, says in table.items()
    ]
    if reasons:
        yield from ("", *reasons)
