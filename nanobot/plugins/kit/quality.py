"""Checks of a channel's manifest, for authors of channels, and the table that documents it.

def test_the_manifest_names_tests_that_exist() -> None:
    check_manifest(Path("my_channel/manifest.toml"), tests=Path("tests"))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from nanobot.plugins.kit.promises import that
from nanobot.plugins.kit.scale import RULES, Manifest


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
    """The rules of each grade, and each channel with its grade and the reasons why it does not keep
    a rule, in Markdown."""
    lines = []
    for grade, rules in RULES.items():
        lines += [f"### {grade.capitalize()}", ""]
        lines += [f"- `{rule}`: {says}" for rule, says in rules.items()]
        lines.append("")
    lines += ["## The channels", "", "A channel keeps every rule that is not listed with it."]
    for manifest in manifests.values():
        lines += ["", f"### {manifest.platform}", "", *_notes(manifest)]
    return "\n".join(lines) + "\n"


def _notes(manifest: Manifest) -> Iterator[str]:
    source = manifest.source
    if source.startswith("https://"):
        source = f"[documentation]({source})"
    yield f"Grade: {manifest.grade or 'none'}. Owner: {manifest.owner}."
    yield f"Built to {manifest.api} ({source}, read on {manifest.read_on})."
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, table in (("Open", manifest.open), ("Exempt", manifest.exempt)):
        for rule, says in table.items():
            reasons.setdefault((name, says), []).append(f"`{rule}`")
    if reasons:
        yield ""
    for (name, says), rules in reasons.items():
        yield f"- {name}: {', '.join(rules)}. {says}"
