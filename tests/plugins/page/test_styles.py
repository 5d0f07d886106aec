"""What the page's scripts, those of plugins included, call their elements has a style: a table or a
row without one is wider than a phone."""

from __future__ import annotations

import re
from pathlib import Path

import nanobot

PLUGINS = Path(nanobot.__file__).parent / "plugins"
FOR_TESTS = {"answer"}
"""Classes that only name an element."""


def read(kind: str) -> dict[str, str]:
    files = [path for path in PLUGINS.rglob(f"*.{kind}") if "vendor" not in path.parts]
    return {str(path.relative_to(PLUGINS)): path.read_text("utf-8") for path in files}


def test_every_class_has_a_style() -> None:
    styled = set(re.findall(r"\.([a-z][\w-]*)", "\n".join(read("css").values())))
    plain = {
        f"{name}: {each}"
        for name, script in read("js").items()
        for literal in re.findall(r'class="([^"]*)"', script)
        for each in literal.split()
        if re.fullmatch(r"[a-z][\w-]*", each) and each not in styled | FOR_TESTS
    }
    assert plain == set()
    assert len(styled) > 100


def test_every_view_with_a_head_has_the_margins_of_views() -> None:
    head = re.compile(r"<\$\{Head\}\s+title=")
    heads = {name: script for name, script in read("js").items() if head.search(script)}
    assert [name for name, script in heads.items() if 'class="view"' not in script] == []
    assert len(heads) > 7


def test_every_kind_of_button_has_a_style() -> None:
    """A kind without one looks like any other button: nobody sees which is the main one."""
    styles = "\n".join(read("css").values())
    kinds = {
        f"{name}: {kind}"
        for name, script in read("js").items()
        for literal in re.findall(r'<\$\{Button\}[^>]*?kind="([^"]*)"', script, re.DOTALL)
        for kind in literal.split()
        if f".button.{kind}" not in styles and f".{kind}" not in styles
    }
    assert kinds == set()
